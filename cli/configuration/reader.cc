#include <algorithm>
#include <regex>

#include "cli/configuration/option_table.h"
#include "cli/configuration/registry.h"
#include "cli/configuration/values.h"
#include "cli/configuration/yaml_faults.h"

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

class OptionReader {
  public:
    OptionReader(Configuration& configuration, Report& report)
        : configuration_(configuration), report_(report), to_(configuration) {}

    void read_mapping(const Node& node, const OptionTree& tree, const std::string& path) {
        if (node.kind != Node::Kind::mapping) {
            if (const auto divided = divide_joined(node, tree, path)) {
                return read_mapping(*divided, tree, path);
            }
            report_.error(
                node.mark, path,
                shown(node) + " is not a mapping. Options here: " + one_of(tree.names()) + ".");
            return;
        }
        for (std::size_t index = 0; index < node.items.size(); ++index) {
            if (tree.find(node.keys[index].name) == nullptr) refuse(node.keys[index], tree, path);
        }
        // In the table's order, not the file's: one option may build on another.
        for (const OptionTree& child : tree.children) {
            const std::string child_path = path.empty() ? child.name : path + "." + child.name;
            read_child(node, child, child_path);
        }
    }

  private:
    // `name:orders` alone is a text for YAML. It is read as it was meant; nullopt if it is another
    // text.
    std::optional<Node> divide_joined(const Node& node, const OptionTree& tree,
                                      const std::string& path) {
        const auto colon = joined_colon(node.written);
        if (!colon || node.quoted) return std::nullopt;
        const std::string name = node.written.substr(0, *colon);
        if (tree.find(name) == nullptr) return std::nullopt;
        report_.error(node.mark, path, joined_colon_advice(node.written, *colon));
        Node value = node;
        value.text.erase(0, *colon + 1);
        value.written.erase(0, *colon + 1);
        return Node{.kind = Node::Kind::mapping,
                    .mark = node.mark,
                    .keys = {{name, node.mark}},
                    .items = {std::move(value)}};
    }

    void refuse(const Node::Key& key, const OptionTree& tree, const std::string& path) {
        const std::string here = path.empty() ? "at the top level" : "under `" + path + "`";
        std::string advice;
        const auto other = other_names.find(key.name);
        if (other != other_names.end() && tree.find(other->second) != nullptr) {
            advice = "; did you mean `" + other->second + "`?";
        } else {
            advice = guess(key.name, tree.names());
        }
        if (advice == ".") {
            const std::string place = elsewhere(key.name, path);
            advice = place.empty() ? ". Known are " + one_of(tree.names()) + "."
                                   : ". Its place is `" + place + "`.";
        }
        report_.error(key.mark, path, "`" + key.name + "` is not an option " + here + advice);
    }

    void read_child(const Node& parent, const OptionTree& child, const std::string& path) {
        const Node* const node = parent.find(child.name);
        if (node != nullptr) {
            const bool value = child.spec != nullptr && node->kind != Node::Kind::null;
            const auto index = static_cast<std::size_t>(node - parent.items.data());
            report_.locate(path, value ? node->mark : parent.keys[index].mark);
        }
        if (node != nullptr && node->kind == Node::Kind::null) {
            report_.error(report_.mark_of(path), path,
                          "There is no value. Write one, or remove the option.");
        } else if (child.spec != nullptr) {
            read_option(node, *child.spec, parent.mark, path);
        } else if (child.name == "topics") {
            // A front door needs no topics.
            const bool needed = node != nullptr || parent.find("http") == nullptr;
            if (needed) read_topics(node, child, parent.mark, path);
        } else if (child.list) {
            const auto read = child.name == "routes"       ? &OptionReader::read_routes
                              : child.name == "registries" ? &OptionReader::read_registries
                                                           : &OptionReader::read_databases;
            if (node != nullptr) (this->*read)(*node, child, path);
        } else {
            const Node empty{.kind = Node::Kind::mapping, .mark = parent.mark};
            read_mapping(node != nullptr ? *node : empty, child, path);
        }
    }

    void read_option(const Node* node, const OptionSpec& spec, Mark parent,
                     const std::string& path) {
        if (node != nullptr) {
            const auto value = read_value(spec, {*node, path, report_});
            if (value) bind(spec, *value, path);
        } else if (spec.required()) {
            const std::string name = path.substr(path.rfind('.') + 1);
            report_.error(parent, path, "`" + name + "` is missing. " + spec.meaning);
        } else if (spec.has_default()) {
            bind(spec, default_value(spec), path);
        }
    }

    void bind(const OptionSpec& spec, const OptionValue& value, const std::string& path) {
        spec.bind.set(to_, value);
        configuration_.values[path] = canonical_text(value);
    }

    // Reads each entry of a list, with its place in the file. `first` is an entry's first option.
    template <class Read>
    void read_list(const Node& node, const OptionTree& tree, const std::string& path,
                   const std::string& first, Read read) {
        const Written list{node, path, report_};
        if (node.kind != Node::Kind::sequence) {
            list.refuse(" is not a list of " + tree.name + ". Write `" + tree.name +
                        ":`, and below it `- " + first + ": ...` for each.");
            return;
        }
        for (std::size_t index = 0; index < node.items.size(); ++index) {
            read(node.items[index], list.entry(index).path, index);
        }
    }

    void read_databases(const Node& node, const OptionTree& tree, const std::string& path) {
        const auto read = [&](const Node& item, const std::string& at, std::size_t) {
            to_.database = &configuration_.databases.emplace_back();
            to_.database->mark = item.mark;
            read_mapping(item, tree, at);
        };
        read_list(node, tree, path, "name", read);
    }

    void read_registries(const Node& node, const OptionTree& tree, const std::string& path) {
        const auto read = [&](const Node& item, const std::string& at, std::size_t) {
            to_.registry = &configuration_.registries.emplace_back();
            to_.registry->mark = item.mark;
            read_mapping(item, tree, at);
        };
        read_list(node, tree, path, "name", read);
    }

    void read_routes(const Node& node, const OptionTree& tree, const std::string& path) {
        const auto read = [&](const Node& item, const std::string& at, std::size_t index) {
            RouteConfiguration& route = configuration_.http.routes.emplace_back();
            route.mark = item.mark;
            route.path = at;
            to_.route = &route;
            TopicConfiguration message;
            LedgerOptions ledger = read_message(item, tree, at, message);
            const bool upstream = report_.given(at + ".upstream");
            if (!upstream && !report_.given(at + ".sink")) return;
            message.name = operation_of(route.options.pattern);
            message.mark = route.mark;
            message.stores_results = ledger.stores_results = true;
            finish_topic(message, std::move(ledger), at);
            auto& routes = upstream ? configuration_.route_upstreams : configuration_.route_sinks;
            routes.emplace(index, std::move(message));
        };
        read_list(node, tree, path, "method", read);
    }

    // A message's own options, of a topic or of a route to a sink.
    LedgerOptions read_message(const Node& item, const OptionTree& tree,
                               const std::string& item_path, TopicConfiguration& message) {
        static_cast<MessageTarget&>(to_) = {};
        message.path = item_path;
        to_.topic = &message;
        read_mapping(item, tree, item_path);
        message.sink_mark = report_.mark_of(item_path + ".sink");
        message.reach_mark = report_.mark_of(item_path + ".ledger.reach");
        message.retention_mark = report_.mark_of(item_path + ".ledger.retention");
        message.sink = to_.table;
        to_.function.columns = to_.table.columns;
        if (report_.given(item_path + ".sink.outbox")) message.sink = to_.outbox;
        if (report_.given(item_path + ".sink.function")) message.sink = to_.function;
        if (report_.given(item_path + ".sink.webhook")) message.sink = to_.webhook;
        if (report_.given(item_path + ".also_publish")) message.also_publish = to_.also_publish;
        if (report_.given(item_path + ".dead_letters")) message.dead_letters = to_.dead_letters;
        return to_.ledger;
    }

    void read_topics(const Node* node, const OptionTree& tree, Mark parent,
                     const std::string& path) {
        const bool list = node != nullptr && node->kind == Node::Kind::sequence;
        if (node == nullptr || (list && node->items.empty())) {
            report_.error(node == nullptr ? parent : node->mark, path,
                          "There is no topic. Write `topics:`, and below it `- name: ...` for "
                          "each.");
            return;
        }
        const auto read = [&](const Node& item, const std::string& at, std::size_t) {
            TopicConfiguration& topic = configuration_.topics.emplace_back();
            topic.mark = item.mark;
            LedgerOptions ledger = read_message(item, tree, at, topic);
            topic.stores_results = report_.given(at + ".results") || report_.given(at + ".reply");
            ledger.stores_results = topic.stores_results;
            finish_topic(topic, std::move(ledger), at);
        };
        read_list(*node, tree, path, "name", read);
    }

    // What is computed from other options, and the ledger, which topics may share.
    void finish_topic(TopicConfiguration& topic, LedgerOptions ledger, const std::string& path) {
        const std::string own_name = configuration_.group + "/" + topic.name;
        if (topic.key.operation.empty()) topic.key.operation = own_name;
        if (ledger.name.empty()) ledger.name = own_name;
        topic.ledger = ledger.name;
        LedgerOptions& kept = configuration_.ledgers.emplace(ledger.name, ledger).first->second;
        kept.stores_results = kept.stores_results || ledger.stores_results;
        compare_ledgers(kept, ledger, path);
        settle_store(kept, topic, ledger, path);
    }

    // A store that one topic sets is that of all topics with its ledger. If none sets one, it is
    // `table` if one of them needs a table; otherwise any store that the ledger has will do.
    void settle_store(LedgerOptions& kept, const TopicConfiguration& topic,
                      const LedgerOptions& ledger, const std::string& path) {
        StoreBy& by = stores_[kept.name];
        if (report_.given(path + ".ledger.store")) {
            const bool same = kept.store == ledger.store && kept.any_store == ledger.any_store;
            differ(by != StoreBy::topic || same, kept.name, path, "store");
            by = StoreBy::topic;
            kept.store = ledger.store;
            kept.any_store = ledger.any_store;
        }
        const bool minted = topic.key.minted_at.kind != MintedSource::Kind::none;
        if (kept.stores_results || minted) by = std::max(by, StoreBy::need);
        if (by == StoreBy::topic) return;
        kept.any_store = by == StoreBy::nobody;
        kept.store = kept.any_store ? StoreKind::log : StoreKind::table;
    }

    void compare_ledgers(const LedgerOptions& first, const LedgerOptions& again,
                         const std::string& path) {
        const auto compare = [&](bool same, const char* option) {
            differ(same, first.name, path, option);
        };
        compare(first.reach == again.reach, "reach");
        compare(first.retention == again.retention, "retention");
        compare(first.rotate_after == again.rotate_after, "rotate_after");
        compare(first.rotate_claims == again.rotate_claims, "rotate_claims");
        compare(first.purge_hours == again.purge_hours, "purge_hours");
        compare(first.lease == again.lease, "lease");
    }

    void differ(bool same, const std::string& ledger, const std::string& path,
                const std::string& option) {
        if (same) return;
        report_.error_at(path + ".ledger." + option,
                         "The ledger `" + ledger + "` has another `" + option +
                             "` at a topic above. One ledger has one: write the same value at "
                             "each topic that names it, or another ledger name.");
    }

    // What has decided a ledger's store, of the topics read so far. The highest value counts.
    enum class StoreBy : std::uint8_t { nobody, need, topic };

    Configuration& configuration_;
    Report& report_;
    OptionTarget to_;
    std::map<std::string, StoreBy> stores_;  // by the ledger's name
};

}  // namespace

void read_configuration(const Node& root, Configuration& configuration, Report& report) {
    OptionReader(configuration, report).read_mapping(root, option_tree(), "");
    tie_registries(configuration, report);
    configuration.kafka.group = configuration.group;
    configuration.admin = parse_listen_address(configuration.admin_text);
    if (const auto address = parse_listen_address(configuration.http.listen_text)) {
        configuration.http.server.host = address->host;
        configuration.http.server.port = address->port;
    }
    configuration.kafka_mark = report.mark_of("kafka");
    configuration.postgres_mark = report.mark_of("postgres");
}

}  // namespace onceward
