#include "dedup/result.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace onceward {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

constexpr std::array<std::string_view, 17> never_stored{"set-cookie",
                                                        "set-cookie2",
                                                        "cookie",
                                                        "authorization",
                                                        "www-authenticate",
                                                        "authentication-info",
                                                        "connection",
                                                        "keep-alive",
                                                        "proxy-connection",
                                                        "proxy-authenticate",
                                                        "proxy-authorization",
                                                        "proxy-authentication-info",
                                                        "te",
                                                        "trailer",
                                                        "transfer-encoding",
                                                        "upgrade",
                                                        "content-length"};

// RFC 9110, 5.6.2.
bool is_token(std::string_view name) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::ranges::all_of(name, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
}

bool is_line(std::string_view value) {
    return std::ranges::all_of(
        value, [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7F); });
}

// The names in a Connection header: they belong to the hop as well.
void add_names(std::string_view value, std::vector<std::string>& names) {
    while (!value.empty()) {
        const std::size_t comma = std::min(value.find(','), value.size());
        std::string_view name = value.substr(0, comma);
        while (!name.empty() && (name.front() == ' ' || name.front() == '\t')) {
            name.remove_prefix(1);
        }
        while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
        names.push_back(lower(name));
        value.remove_prefix(std::min(comma + 1, value.size()));
    }
}

std::size_t bytes_of(const ResultHeaders& headers) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : headers) bytes += name.size() + value.size();
    return bytes;
}

std::string text_of(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string_view to_text(MessageResult::Kind kind) {
    switch (kind) {
        case MessageResult::Kind::done: return "done";
        case MessageResult::Kind::failed: return "failed";
    }
    return "";
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

bool is_never_stored(std::string_view name) {
    return std::ranges::find(never_stored, lower(name)) != never_stored.end();
}

ResultHeaders kept_headers(const ResultHeaders& headers, std::span<const std::string> allowed) {
    std::vector<std::string> wanted;
    for (const std::string& name : allowed) wanted.push_back(lower(name));
    std::vector<std::string> of_the_hop;
    for (const auto& [name, value] : headers) {
        if (lower(name) == "connection") add_names(value, of_the_hop);
    }
    const auto in = [](const std::vector<std::string>& names, const std::string& name) {
        return std::ranges::find(names, name) != names.end();
    };
    ResultHeaders kept;
    for (const auto& [name, value] : headers) {
        std::string small = lower(name);
        if (!in(wanted, small) || in(of_the_hop, small) || is_never_stored(small)) continue;
        if (!is_token(small) || !is_line(value)) continue;
        kept.emplace_back(std::move(small), value);
    }
    return kept;
}

std::optional<MessageResult> storable(MessageResult result, const ResultLimits& limits) {
    result.headers = kept_headers(result.headers, limits.headers);
    if (bytes_of(result.headers) + result.body.size() <= limits.max_bytes) return result;
    switch (limits.on_too_large) {
        case ResultLimits::TooLarge::reject: return std::nullopt;
        case ResultLimits::TooLarge::drop_body: break;
    }
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
    if (!parsed.is_array()) throw std::runtime_error("a result's headers are no list");
    for (const nlohmann::json& header : parsed) {
        if (!header.is_object() || !header.contains("name") || !header.contains("value")) {
            throw std::runtime_error("a result's header has no name or no value");
        }
        headers.emplace_back(text_of(header["name"]), text_of(header["value"]));
    }
    return headers;
}

}  // namespace onceward
