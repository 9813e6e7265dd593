#include "sinks/webhook/rules.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <memory>
#include <stdexcept>

namespace onceward {
namespace {

bool is_lower_hex(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct FreeUrl {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::optional<std::string> part_of(CURLU* url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return std::nullopt;
    std::string copy(text);
    curl_free(text);
    return copy;
}

}  // namespace

std::string downstream_key(const Digest& digest) {
    Digest key = digest_of_bytes("onceward downstream key\n" + std::string(bytes_of(digest)));
    key.bytes[6] = static_cast<std::uint8_t>((key.bytes[6] & 0x0F) | 0x50);
    key.bytes[8] = static_cast<std::uint8_t>((key.bytes[8] & 0x3F) | 0x80);
    return uuid_text(key);
}

std::string key_header_value(const Digest& digest) { return '"' + downstream_key(digest) + '"'; }

std::string signature(const Secret& secret, std::chrono::seconds since_1970,
                      std::string_view body) {
    const std::string time = std::to_string(since_1970.count());
    std::string text = time + ".";
    text.append(body);
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned int size = 0;
    const std::string& key = secret.reveal();
    if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), raw.data(),
             &size) == nullptr) {
        throw std::runtime_error("OpenSSL has no HMAC-SHA256");
    }
    return "t=" + time +
           ",v1=" + hex(std::string_view(reinterpret_cast<const char*>(raw.data()), size));
}

EffectOutcome::Kind meaning_of(int status, std::span<const int> retry_on) {
    using Kind = EffectOutcome::Kind;
    if (status >= 200 && status < 300) return Kind::done;
    const bool passing = status == 408 || status == 425 || status == 429 ||
                         std::ranges::find(retry_on, status) != retry_on.end();
    if (status >= 400 && status < 500 && !passing) return Kind::failed;
    return Kind::again;
}

std::optional<std::chrono::milliseconds> retry_after(std::string_view value,
                                                     std::chrono::seconds now_since_1970) {
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
    if (value.empty()) return std::nullopt;
    constexpr std::int64_t most = 366LL * 24 * 3600;
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    const bool digits = std::isdigit(static_cast<unsigned char>(value.front())) != 0;
    if (digits && end == value.data() + value.size()) {
        return std::chrono::seconds(error == std::errc{} ? std::min(seconds, most) : most);
    }
    const time_t date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date == -1) return std::nullopt;
    const std::int64_t left = static_cast<std::int64_t>(date) - now_since_1970.count();
    return std::chrono::seconds(std::clamp<std::int64_t>(left, 0, most));
}

bool valid_traceparent(std::string_view value) {
    if (value.size() != 55 || value[2] != '-' || value[35] != '-' || value[52] != '-') {
        return false;
    }
    const std::string_view trace = value.substr(3, 32), parent = value.substr(36, 16);
    const auto zero = [](std::string_view text) {
        return text.find_first_not_of('0') == std::string_view::npos;
    };
    return is_lower_hex(value.substr(0, 2)) && value.substr(0, 2) != "ff" && is_lower_hex(trace) &&
           is_lower_hex(parent) && is_lower_hex(value.substr(53)) && !zero(trace) && !zero(parent);
}

std::string own_traceparent(const Digest& digest) {
    std::string trace = downstream_key(digest);
    std::erase(trace, '-');
    return "00-" + trace + '-' + trace.substr(16) + "-00";
}

std::optional<CallAddress> call_address(const std::string& text) {
    const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
    if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
        return std::nullopt;
    }
    const auto scheme = part_of(url.get(), CURLUPART_SCHEME);
    const auto host = part_of(url.get(), CURLUPART_HOST);
    const bool user = part_of(url.get(), CURLUPART_USER) || part_of(url.get(), CURLUPART_PASSWORD);
    if (!scheme || !host || user || (*scheme != "http" && *scheme != "https")) return std::nullopt;
    const bool brackets = host->starts_with('[') && host->ends_with(']');
    return CallAddress{*scheme == "https", brackets ? host->substr(1, host->size() - 2) : *host};
}

}  // namespace onceward
