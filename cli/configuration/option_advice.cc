#include "cli/configuration/option_advice.h"

#include <algorithm>
#include <map>
#include <regex>
#include <string_view>
#include <vector>

#include "cli/configuration/values.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

// What people coming from elsewhere write, and what it is called here.
const std::map<std::string, std::string> other_names = {
    {"brokers", "bootstrap_servers"},
    {"bootstrap.servers", "bootstrap_servers"},
    {"servers", "bootstrap_servers"},
    {"group.id", "group"},
    {"consumer_group", "group"},
    {"url", "dsn"},
    {"connection_string", "dsn"},
    {"topic", "name"},
    {"fields", "columns"},
    {"ttl", "retention"},
    {"threads", "workers"},
    {"size", "messages"},
    {"log", "logging"},
};

// What to write for an option that must be given, by its name.
const std::map<std::string, std::string> written_examples = {
    {"group", "NAME"},  {"name", "NAME"},    {"dsn", "${ONCEWARD_DSN}"},
    {"method", "POST"}, {"path", "/orders"}, {"urls", "[https://registry.example.com]"}};

// The full paths of all places where an option of that name is allowed.
void collect_places(const OptionTree& tree, const std::string& name, const std::string& path,
                    std::vector<std::string>& places) {
    for (const OptionTree& child : tree.children) {
        const std::string child_path =
            (path.empty() ? "" : path + ".") + child.name + (child.list ? "[]" : "");
        if (child.name == name) places.push_back(child_path);
        collect_places(child, name, child_path, places);
    }
}

// `http.routes[]` of `http.routes[3]`.
std::string without_indices(const std::string& path) {
    static const std::regex index(R"(\[\d+\])");
    return std::regex_replace(path, index, "[]");
}

// How many parts both begin with.
std::size_t common_parts(std::string_view one, std::string_view two) {
    std::size_t parts = 0;
    for (std::size_t at = 0;; ++at) {
        const bool one_ends = at == one.size() || one[at] == '.';
        const bool two_ends = at == two.size() || two[at] == '.';
        if (one_ends && two_ends) ++parts;
        if (at == one.size() || at == two.size() || one[at] != two[at]) return parts;
    }
}

// The nearest of the other places where an option of that name is allowed; '' if there is none. A
// place in a route does not help within a topic, nor the other way round.
std::string elsewhere(const std::string& name, const std::string& path) {
    const std::string here = without_indices(path);
    std::vector<std::string> places;
    collect_places(option_tree(), name, "", places);
    const bool topic = here.starts_with("topics[]");
    const bool front_door = here == "http" || here.starts_with("http.");
    std::erase_if(places, [&](const std::string& place) {
        return (topic && place.starts_with("http.")) ||
               (front_door && place.starts_with("topics[]."));
    });
    // If several are equally near, the least nested one.
    std::ranges::stable_sort(
        places, {}, [](const std::string& place) { return std::ranges::count(place, '.'); });
    const auto nearest = std::ranges::max_element(
        places, {}, [&](const std::string& place) { return common_parts(here, place); });
    return nearest == places.end() ? "" : *nearest;
}

}  // namespace

NameAdvice advice_on_name(const std::string& name, const OptionTree& tree,
                          const std::string& path) {
    const auto other = other_names.find(name);
    const bool renamed = other != other_names.end() && tree.find(other->second) != nullptr;
    const std::string meant = renamed ? other->second : nearest_name(name, tree.names());
    if (!meant.empty()) return {meant, "; did you mean `" + meant + "`?"};
    const std::string place = elsewhere(name, path);
    return {"", place.empty() ? ". Known are " + one_of(tree.names()) + "."
                              : ". Its place is `" + place + "`."};
}

std::string what_to_write(const OptionSpec& spec) {
    const std::string name = spec.path.substr(spec.path.rfind('.') + 1);
    const auto example = written_examples.find(name);
    return example == written_examples.end() ? spec.meaning
                                             : "Write `" + name + ": " + example->second + "`.";
}

}  // namespace onceward
