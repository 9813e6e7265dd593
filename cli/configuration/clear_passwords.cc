#include <algorithm>

#include "cli/configuration/yaml_tree.h"
#include "dedup/postgres/connection_string.h"

namespace onceward {
namespace {

// Stands for what is not in the file. It is no blank, at which libpq would end a value.
constexpr char kept_elsewhere = '\x01';

// A value as far as the file itself holds it: a variable's default is in it, and for what the
// variable holds there is kept_elsewhere.
std::string text_in_file(const std::string& written) {
    std::string text;
    for (std::size_t at = 0; at < written.size();) {
        if (written.compare(at, 2, "${") != 0) {
            if (written.compare(at, 2, "$$") == 0) ++at;
            text += written[at++];
            continue;
        }
        const std::size_t end = std::min(written.find('}', at), written.size());
        const std::string inside = written.substr(at + 2, end - at - 2);
        const std::size_t fallback = inside.find(":-");
        const bool has_default = fallback != std::string::npos && !inside.starts_with("file:");
        text += has_default ? inside.substr(fallback + 2) : std::string(1, kept_elsewhere);
        at = end + 1;
    }
    return text;
}

bool is_clear(const std::string& password) {
    return !password.empty() && password.find(kept_elsewhere) == std::string::npos;
}

bool holds_clear_password(const std::string& dsn) {
    const std::string begin = "PGPASSWORD=";
    return std::ranges::any_of(environment_of(Secret(dsn)), [&](const std::string& entry) {
        return entry.starts_with(begin) && is_clear(entry.substr(begin.size()));
    });
}

// What to write instead; '' if the value holds no password.
std::string advice_on_password(const std::string& name, const std::string& written) {
    if (name == "sasl.password" && is_clear(text_in_file(written))) {
        return "Write `${file:kafka.password}` or `${KAFKA_PASSWORD}`.";
    }
    if ((name == "dsn" || name == "operator_dsn") && holds_clear_password(text_in_file(written))) {
        return "Write `${file:dsn.secret}` or use PGPASSWORD.";
    }
    return "";
}

void search_passwords(const Node& node, const std::string& path, std::vector<Finding>& found) {
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const Node& item = node.items[index];
        const bool list = node.kind == Node::Kind::sequence;
        const std::string name = list ? "" : node.keys[index].name;
        const std::string place = list           ? path + "[" + std::to_string(index) + "]"
                                  : path.empty() ? name
                                                 : path + "." + name;
        const std::string advice = advice_on_password(name, item.written);
        if (!advice.empty()) {
            found.push_back({Finding::Severity::warning, item.mark, place,
                             "The password is in the file. " + advice});
        }
        search_passwords(item, place, found);
    }
}

}  // namespace

std::vector<Finding> clear_passwords(const Node& root) {
    std::vector<Finding> found;
    search_passwords(root, "", found);
    return found;
}

}  // namespace onceward
