#pragma once
// A question of the page, from a request's target. Plain values; pure; thread-safe.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

struct PageRequest {
    std::string path;
    std::map<std::string, std::string> values = {};  // of the query

    // '' if the query has no such name.
    std::string value(const std::string& name) const {
        const auto found = values.find(name);
        return found == values.end() ? "" : found->second;
    }
    // '': nullopt
    std::optional<std::string> given(const std::string& name) const {
        const std::string text = value(name);
        return text.empty() ? std::nullopt : std::optional(text);
    }
};

// nullopt if a `%` is not followed by two digits.
std::optional<PageRequest> page_request(std::string_view target);

}  // namespace onceward
