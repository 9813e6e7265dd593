#include "gateway/checks/signature.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::size_t hex_length = 64;
constexpr std::string_view webhook_id = "webhook-id";

// What the headers say: id and time, if they are signed, and the signatures in hex. One of the
// signatures has to fit.
struct Signed {
    std::optional<std::string_view> id{};
    std::string_view time{};
    std::vector<std::string> signatures{};
};

// Returns an empty time if the header is not well formed.
Signed read_stripe(std::string_view value) {
    Signed found;
    while (!value.empty()) {
        std::string_view part = value.substr(0, value.find(','));
        value.remove_prefix(std::min(part.size() + 1, value.size()));
        while (part.starts_with(' ')) part.remove_prefix(1);
        if (part.starts_with("t=")) {
            // DANGER: with two times, one could be judged and the other signed.
            if (!found.time.empty()) return {};
            found.time = part.substr(2);
        } else if (part.starts_with("v1=")) {
            found.signatures.emplace_back(part.substr(3));
        }
    }
    return found.signatures.empty() ? Signed{} : found;
}

// Skips signatures of other versions, which are for other keys. Returns an empty list if one is not
// well formed.
std::vector<std::string> read_standard_webhooks(std::string_view value) {
    std::vector<std::string> signatures;
    while (!value.empty()) {
        std::string_view part = value.substr(0, value.find(' '));
        value.remove_prefix(std::min(part.size() + 1, value.size()));
        if (!part.starts_with("v1,")) continue;
        part.remove_prefix(3);
        std::string bytes;
        if (!append_base64(part, bytes)) return {};
        signatures.push_back(hex(bytes));
    }
    return signatures;
}

std::string_view without_prefix(std::string_view value) {
    constexpr std::string_view prefix = "sha256=";
    return value.starts_with(prefix) ? value.substr(prefix.size()) : value;
}

// DANGER: constant time. A comparison that ends at the first difference reveals how much of a guess
// is right.
bool equal(std::string_view expected, std::string_view given) {
    if (given.size() != expected.size()) return false;
    const std::string lower = lower_case(std::string(given));
    return CRYPTO_memcmp(expected.data(), lower.data(), expected.size()) == 0;
}

// Empty if the secret does not have the scheme's form.
std::string key_of(const SignatureOptions& options, const Secret& secret) {
    return options.scheme == SignatureOptions::Scheme::standard_webhooks
               ? standard_webhooks_key(secret.reveal()).value_or("")
               : secret.reveal();
}

SignatureVerdict judge(const SignatureOptions& options, const Signed& found, std::string_view body,
                       std::chrono::seconds now) {
    std::optional<std::chrono::seconds> time;
    std::string text;
    if (found.id) text = std::string(*found.id) + ".";
    if (!found.time.empty()) {
        const auto count = number_of<std::int64_t>(found.time);
        if (!count || *count < 0) return SignatureVerdict::malformed;
        time = std::chrono::seconds(*count);
        text += std::string(found.time) + ".";
    }
    text += body;
    bool good = false;
    for (const Secret& secret : options.secrets) {
        const std::string key = key_of(options, secret);
        if (key.empty()) continue;  // An empty secret is one that everybody knows.
        const std::string expected = hmac_sha256(key, text);
        for (const std::string& signature : found.signatures) {
            good = equal(expected, signature) || good;
        }
    }
    if (!good) return SignatureVerdict::wrong;
    if (time && (*time < now - options.tolerance || *time > now + options.tolerance)) {
        return SignatureVerdict::stale;
    }
    return SignatureVerdict::good;
}

}  // namespace

std::string_view signature_header(const SignatureOptions& options) {
    switch (options.scheme) {
        case SignatureOptions::Scheme::stripe: return "Stripe-Signature";
        case SignatureOptions::Scheme::github: return "X-Hub-Signature-256";
        case SignatureOptions::Scheme::hmac: return options.header;
        case SignatureOptions::Scheme::standard_webhooks: return "webhook-signature";
    }
    return "";
}

std::string signed_time_header(const SignatureOptions& options) {
    switch (options.scheme) {
        case SignatureOptions::Scheme::stripe:
        case SignatureOptions::Scheme::github: return "";
        case SignatureOptions::Scheme::hmac: return options.time_header;
        case SignatureOptions::Scheme::standard_webhooks: return "webhook-timestamp";
    }
    return "";
}

std::string_view signed_id_header(const SignatureOptions& options) {
    return options.scheme == SignatureOptions::Scheme::standard_webhooks ? webhook_id : "";
}

SignatureVerdict verify_signature(const SignatureOptions& options, const HttpHeaders& headers,
                                  std::string_view body, std::chrono::seconds now) {
    using Scheme = SignatureOptions::Scheme;
    const std::vector<std::string_view> values = values_of(headers, signature_header(options));
    if (values.empty()) return SignatureVerdict::missing;
    if (values.size() > 1) return SignatureVerdict::malformed;

    Signed found;
    switch (options.scheme) {
        case Scheme::stripe:
            found = read_stripe(values.front());
            if (found.time.empty()) return SignatureVerdict::malformed;
            break;
        case Scheme::github:
            if (!values.front().starts_with("sha256=")) return SignatureVerdict::malformed;
            found.signatures = {std::string(without_prefix(values.front()))};
            break;
        case Scheme::hmac:
            found.signatures = {std::string(without_prefix(values.front()))};
            if (!options.time_header.empty()) {
                const auto time = only_value(headers, options.time_header);
                if (!time || time->empty()) return SignatureVerdict::malformed;
                found.time = *time;
            }
            break;
        case Scheme::standard_webhooks: {
            found.signatures = read_standard_webhooks(values.front());
            found.id = only_value(headers, webhook_id);
            const auto time = only_value(headers, signed_time_header(options));
            // DANGER: an id with a dot could be read as another id and another time.
            const bool id = found.id && !found.id->empty() && found.id->find('.') == found.id->npos;
            if (found.signatures.empty() || !id || !time || time->empty()) {
                return SignatureVerdict::malformed;
            }
            found.time = *time;
            break;
        }
    }
    const auto whole = [](const std::string& signature) { return signature.size() == hex_length; };
    if (!std::ranges::all_of(found.signatures, whole)) return SignatureVerdict::malformed;
    return judge(options, found, body, now);
}

}  // namespace onceward
