#include "consumer/decode/connect/connect_schemas.h"

#include "dedup/base/json_reader.h"

namespace onceward {

std::string_view ConnectSchemas::after_known(std::string_view document) {
    constexpr std::string_view before = "{\"schema\":";
    if (!document.starts_with(before)) return {};
    document.remove_prefix(before.size());
    for (auto at = known_.begin(); at != known_.end(); ++at) {
        if (!document.starts_with(at->text)) continue;
        const std::string_view rest = document.substr(at->text.size());
        // JSON has no comma before a closing brace.
        if (!rest.starts_with(',') || trim_json_space(rest.substr(1)).starts_with('}')) return {};
        known_.splice(known_.begin(), known_, at);
        return rest.substr(1);
    }
    return {};
}

const ConnectSchemas::Known& ConnectSchemas::get(std::string_view text) {
    for (auto at = known_.begin(); at != known_.end(); ++at) {
        if (at->text != text) continue;
        if (at != known_.begin()) known_.splice(known_.begin(), known_, at);
        return known_.front();
    }
    while (!known_.empty() && (known_.size() >= most || bytes_ + text.size() > most_bytes)) {
        bytes_ -= known_.back().text.size();
        known_.pop_back();
    }
    ++parsed_;
    bytes_ += text.size();
    Known& made = known_.emplace_front(Known{std::string(text), ConnectSchema(text), {}});
    for (const std::string& pointer : pointers_) {
        const ConnectSchema::Node* node = made.schema.find(pointer);
        made.nodes.push_back(node != nullptr && node->changes ? node : nullptr);
    }
    return made;
}

}  // namespace onceward
