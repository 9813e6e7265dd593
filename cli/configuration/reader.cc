#include <algorithm>
#include <array>

#include "cli/configuration/option_advice.h"
#include "cli/configuration/option_table.h"
#include "cli/configuration/registry.h"
#include "cli/configuration/values.h"
#include "cli/configuration/yaml_faults.h"

namespace onceward {
namespace {

// These are the types of options whose value is a mapping.
constexpr std::array mapping_types{OptionType::columns, OptionType::properties,
                                   OptionType::headers, OptionType::attributes};

class OptionReader {
  public:
    OptionReader(Configuration& configuration, Report& report)
        : configuration_(configuration), report_(report), to_(configuration) {}

    void read_mapping(const Node& node, const OptionTree& tree, const std::string& path) {
        if (node.kind != Node::Kind::mapping) {
            if (const auto divided = divide_joined(node, tree, path)) {
                return read_mapping(*divided, tree, path);
            }
            const bool off = path == "admin" && node.written == "off";
            report_.error(node.mark, path,
                          off ? "`off` is not a mapping. Write `admin: {listen: off}`."
                              : shown_kind(node) + " is not a mapping. Options here: " +
                                    one_of(tree.names()) + ".");
            report_.settle(path);
            return;
        }
        for (std::size_t index = 0; index < node.items.size(); ++index) {
            const Node::Key& key = node.keys[index];
            if (tree.find(key.name) == nullptr) refuse(key, node, tree, path);
            const std::size_t lost = not_indented(node, index, tree);
            if (lost == 0) continue;
            report_.error(key.mark, below(path, key.name),
                          "`" + key.name +
                              ":` is empty, and the lines below it are not indented under it. "
                              "Indent them.");
            report_.settle(below(path, key.name));
            index += lost;
        }
        // In the table's order, not the file's: one option may build on another.
        for (const OptionTree& child : tree.children) {
            const std::string child_path = below(path, child.name);
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

    // How many of the next keys were probably meant to be in this one, which is empty: none of them
    // is an option of the same mapping.
    static std::size_t not_indented(const Node& node, std::size_t index, const OptionTree& tree) {
        const OptionTree* const option = tree.find(node.keys[index].name);
        if (option == nullptr || node.items[index].kind != Node::Kind::null) return 0;
        const bool mapping =
            option->spec == nullptr ||
            std::ranges::find(mapping_types, option->spec->bind.type) != mapping_types.end();
        std::size_t next = index + 1;
        while (mapping && next < node.keys.size() && tree.find(node.keys[next].name) == nullptr) {
            ++next;
        }
        return next - index - 1;
    }

    static std::string below(const std::string& path, const std::string& name) {
        return path.empty() ? name : path + "." + name;
    }

    // `parent`: where the key is.
    void refuse(const Node::Key& key, const Node& parent, const OptionTree& tree,
                const std::string& path) {
        const std::string here = path.empty() ? "at the top level" : "under `" + path + "`";
        const NameAdvice advice = advice_on_name(key.name, tree, path);
        report_.error(key.mark, path,
                      "`" + leading_name(key.name) + "` is not an option " + here + advice.rest);
        // That it is missing would be the same mistake again.
        const bool misspelt = !advice.meant.empty() && parent.find(advice.meant) == nullptr;
        if (misspelt) report_.settle(below(path, advice.meant));
    }

    void read_child(const Node& parent, const OptionTree& child, const std::string& path) {
        const Node* const node = parent.find(child.name);
        if (node != nullptr) {
            const bool value = child.spec != nullptr && node->kind != Node::Kind::null;
            const auto index = static_cast<std::size_t>(node - parent.items.data());
            report_.locate(path, value ? node->mark : parent.keys[index].mark);
        }
        if (node != nullptr && node->kind == Node::Kind::null) {
            if (!report_.known(path)) return;
            report_.error(report_.mark_of(path), path,
                          "There is no value. " + instead_of_nothing(child));
            if (child.spec == nullptr) report_.settle(path);
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

    static std::string instead_of_nothing(const OptionTree& option) {
        if (option.spec != nullptr && option.spec->required()) return what_to_write(*option.spec);
        const bool mapping = option.spec == nullptr && !option.list;
        return mapping ? "Options here: " + one_of(option.names()) + "."
                       : "Write one, or remove the option.";
    }

    void read_option(const Node* node, const OptionSpec& spec, Mark parent,
                     const std::string& path) {
        if (node != nullptr) {
            const auto value = read_value(spec, {*node, path, report_});
            if (value) bind(spec, *value, path);
        } else if (spec.required()) {
            const std::string name = path.substr(path.rfind('.') + 1);
            if (!report_.known(path)) return;
            report_.error(parent, path, "`" + name + "` is missing. " + what_to_write(spec));
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
            list.refuse_kind(" is not a list of " + tree.name + ". Write `" + tree.name +
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
            if (!report_.known(path)) return;
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
