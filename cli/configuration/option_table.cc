#include "cli/configuration/option_table.h"

#include <algorithm>

namespace onceward {
namespace {

OptionTree& child_of(OptionTree& parent, std::string name) {
    const bool list = name.ends_with("[]");
    if (list) name.resize(name.size() - 2);
    for (OptionTree& child : parent.children) {
        if (child.name == name) return child;
    }
    return parent.children.emplace_back(OptionTree{name, nullptr, list, {}});
}

}  // namespace

const std::vector<OptionSpec>& option_table() {
    static const std::vector<OptionSpec> table = [] {
        std::vector<OptionSpec> all;
        for (const auto& part :
             {process_options, admin_options, trace_options, registry_options, topic_options,
              dead_letter_options, key_and_ledger_options, sink_options, outbox_options(),
              webhook_options, result_options, http_options()}) {
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }();
    return table;
}

const OptionTree* OptionTree::find(const std::string& child) const {
    const auto found = std::ranges::find(children, child, &OptionTree::name);
    return found == children.end() ? nullptr : &*found;
}

std::vector<std::string> OptionTree::names() const {
    std::vector<std::string> names;
    for (const OptionTree& child : children) names.push_back(child.name);
    return names;
}

const OptionTree& option_tree() {
    static const OptionTree tree = [] {
        OptionTree root;
        for (const OptionSpec& spec : option_table()) {
            OptionTree* node = &root;
            std::string_view rest = spec.path;
            while (!rest.empty()) {
                const std::size_t dot = std::min(rest.find('.'), rest.size());
                node = &child_of(*node, std::string(rest.substr(0, dot)));
                rest.remove_prefix(std::min(dot + 1, rest.size()));
            }
            node->spec = &spec;
        }
        return root;
    }();
    return tree;
}

}  // namespace onceward
