#include "dedup/sink/message_result.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

std::size_t bytes_of(const ResultHeaders& headers) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : headers) bytes += name.size() + value.size();
    return bytes;
}

// The value as the table returns it, whose JSON has no other bytes. So a replay is like the first
// answer.
std::string as_stored(const std::string& value) {
    const nlohmann::json text = value;
    return nlohmann::json::parse(
               text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
        .get<std::string>();
}

bool is_plain(char c) { return static_cast<unsigned char>(c) < 0x80; }

std::string text_of(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string_view to_text(MessageResult::Kind kind) {
    return kind == MessageResult::Kind::done ? "done" : "failed";
}

std::vector<std::string> ResultLimits::default_headers() {
    return {"content-type",
            "content-encoding",
            "content-language",
            "content-disposition",
            "location",
            "content-location",
            "etag",
            "last-modified",
            "link"};
}

ResultHeaders kept_headers(const ResultHeaders& headers, std::span<const std::string> allowed) {
    std::vector<std::string> wanted;
    for (const std::string& name : allowed) wanted.push_back(lower_case(name));
    const std::vector<std::string> of_the_hop = names_of_the_hop(headers);
    const auto in = [](const std::vector<std::string>& names, const std::string& name) {
        return std::ranges::find(names, name) != names.end();
    };
    ResultHeaders kept;
    for (const auto& [name, value] : headers) {
        std::string small = lower_case(name);
        if (!in(wanted, small) || in(of_the_hop, small) || is_never_stored(small)) continue;
        if (!valid_header_name(small) || !valid_header_value(value)) continue;
        kept.emplace_back(std::move(small),
                          std::ranges::all_of(value, is_plain) ? value : as_stored(value));
    }
    return kept;
}

std::optional<MessageResult> storable(MessageResult result, const ResultLimits& limits) {
    result.headers = kept_headers(result.headers, limits.headers);
    if (bytes_of(result.headers) + result.body.size() <= limits.max_bytes) return result;
    if (limits.on_too_large == ResultLimits::TooLarge::reject) return std::nullopt;
    result.headers = {{std::string(dropped_header), std::to_string(result.body.size())}};
    result.body.clear();
    return result;
}

std::string headers_json(const ResultHeaders& headers) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, value] : headers) list.push_back({{"name", name}, {"value", value}});
    return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ResultHeaders headers_from_json(std::string_view json) {
    const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
    ResultHeaders headers;
    if (parsed.is_object()) {
        for (const auto& [name, value] : parsed.items()) headers.emplace_back(name, text_of(value));
        return headers;
    }
    if (!parsed.is_array()) throw std::runtime_error("a result's headers are not a list");
    for (const nlohmann::json& header : parsed) {
        if (!header.is_object() || !header.contains("name") || !header.contains("value")) {
            throw std::runtime_error("a result's header has no name or no value");
        }
        headers.emplace_back(text_of(header["name"]), text_of(header["value"]));
    }
    return headers;
}

}  // namespace onceward
