#include "gateway/http/http.h"

#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {

std::vector<std::string_view> values_of(const HttpHeaders& headers, std::string_view name) {
    std::vector<std::string_view> values;
    for (const auto& [known, value] : headers) {
        if (same_header(known, name)) values.push_back(without_blanks(value));
    }
    return values;
}

std::optional<std::string_view> only_value(const HttpHeaders& headers, std::string_view name) {
    const std::vector<std::string_view> values = values_of(headers, name);
    if (values.size() != 1) return std::nullopt;
    return values.front();
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            decoded += text[at];
            continue;
        }
        const int high = at + 1 < text.size() ? hex_value(text[at + 1]) : -1;
        const int low = at + 2 < text.size() ? hex_value(text[at + 2]) : -1;
        if (high < 0 || low < 0) return std::nullopt;
        decoded += static_cast<char>(high * 16 + low);
        at += 2;
    }
    return decoded;
}

}  // namespace onceward
