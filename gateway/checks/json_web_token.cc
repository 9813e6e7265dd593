#include "gateway/checks/json_web_token.h"

#include <cjose/base64.h>
#include <cjose/cjose.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

using Json = nlohmann::json;

constexpr std::size_t fewest_rsa_bits = 2048;
constexpr std::size_t longest_token = 16 * 1024;

std::string text_member(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool verifies(const Json& key) {
    if (const auto use = key.find("use"); use != key.end() && *use != "sig") return false;
    const auto operations = key.find("key_ops");
    if (operations == key.end()) return true;
    return operations->is_array() &&
           std::ranges::any_of(*operations, [](const Json& one) { return one == "verify"; });
}

std::optional<std::chrono::seconds> time_member(const Json& claims, const char* name, bool& bad) {
    const auto found = claims.find(name);
    if (found == claims.end()) return std::nullopt;
    // A NumericDate may have a fraction. A number outside this range is not a time.
    const double count = found->is_number() ? found->get<double>() : -1;
    if (!(count >= 0 && count < 1e15)) {
        bad = true;
        return std::nullopt;
    }
    return std::chrono::seconds(static_cast<std::int64_t>(std::floor(count)));
}

bool has_audience(const Json& claims, const std::vector<std::string>& wanted) {
    if (wanted.empty()) return true;
    const auto found = claims.find("aud");
    if (found == claims.end()) return false;
    const auto fits = [&](const Json& one) {
        return one.is_string() && std::ranges::find(wanted, one.get<std::string>()) != wanted.end();
    };
    return found->is_array() ? std::ranges::any_of(*found, fits) : fits(*found);
}

// Returns whether the header has a member `crit`, also a null one, which cjose does not report.
bool names_extensions(std::string_view token) {
    const std::string_view head = token.substr(0, token.find('.'));
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    cjose_err error{};
    if (!cjose_base64url_decode(head.data(), head.size(), &bytes, &size, &error)) return false;
    const std::unique_ptr<std::uint8_t, decltype(&std::free)> owned(bytes, &std::free);
    const Json header = Json::parse(bytes, bytes + size, nullptr, false);
    return header.is_object() && header.contains("crit");
}

// A token without an id is accepted only if exactly one key fits: otherwise every key would be
// tried.
const KeySet::Key* key_for(const KeySet& keys, std::string_view algorithm, std::string_view id) {
    const KeySet::Key* found = nullptr;
    for (const KeySet::Key& key : keys.keys) {
        if (key.algorithm != algorithm || (!id.empty() && key.id != id)) continue;
        if (found != nullptr) return nullptr;
        found = &key;
    }
    return found;
}

// Uses the header as cjose has read it, so that two readers cannot understand it differently.
std::optional<TokenFault> verify(cjose_jws_t& token, const KeySet& keys) {
    cjose_err error{};
    cjose_header_t* header = cjose_jws_get_protected(&token);
    const char* algorithm = cjose_header_get(header, CJOSE_HDR_ALG, &error);
    if (algorithm == nullptr) return TokenFault::algorithm;
    const std::string_view wanted = algorithm;
    if (wanted != "RS256" && wanted != "ES256") return TokenFault::algorithm;
    const char* id = cjose_header_get(header, CJOSE_HDR_KID, &error);
    const KeySet::Key* key = key_for(keys, wanted, id == nullptr ? "" : id);
    if (key == nullptr) return TokenFault::unknown_key;
    if (!cjose_jws_verify(&token, key->key.get(), &error)) return TokenFault::signature;
    return std::nullopt;
}

std::optional<TokenFault> judge(const Json& claims, const TokenOptions& options,
                                std::chrono::seconds now) {
    bool bad = false;
    const auto expires = time_member(claims, "exp", bad);
    const auto begins = time_member(claims, "nbf", bad);
    if (bad) return TokenFault::malformed;
    // A token without an end would be good for ever once it is lost.
    if (!expires || now >= *expires + options.leeway) return TokenFault::expired;
    if (begins && now + options.leeway < *begins) return TokenFault::not_yet;
    if (!options.issuer.empty() && text_member(claims, "iss") != options.issuer) {
        return TokenFault::issuer;
    }
    if (!has_audience(claims, options.audiences)) return TokenFault::audience;
    return std::nullopt;
}

}  // namespace

std::optional<KeySet> KeySet::parse(std::string_view json) {
    const Json document = Json::parse(json, nullptr, false);
    if (!document.is_object()) return std::nullopt;
    const auto listed = document.find("keys");
    if (listed == document.end() || !listed->is_array()) return std::nullopt;
    KeySet set;
    for (const Json& entry : *listed) {
        if (!entry.is_object() || !verifies(entry)) continue;
        const std::string type = text_member(entry, "kty");
        const bool curve = type == "EC" && text_member(entry, "crv") == "P-256";
        // DANGER: decide by the key's own type, never by what a token says of itself. A symmetric
        // key is not accepted, so that no one can sign with a public key as if it were a secret.
        if (type != "RSA" && !curve) continue;
        const std::string algorithm = curve ? "ES256" : "RS256";
        if (entry.contains("alg") && text_member(entry, "alg") != algorithm) continue;
        const std::string text = entry.dump();
        cjose_err error{};
        cjose_jwk_t* imported = cjose_jwk_import(text.data(), text.size(), &error);
        if (imported == nullptr) continue;
        const std::shared_ptr<cjose_jwk_t> key(imported, &cjose_jwk_release);
        if (!curve && cjose_jwk_get_keysize(imported, &error) < fewest_rsa_bits) continue;
        set.keys.push_back({text_member(entry, "kid"), algorithm, key});
    }
    return set;
}

std::string_view to_text(TokenFault fault) {
    switch (fault) {
        case TokenFault::malformed: return "it is not well formed";
        case TokenFault::algorithm: return "its algorithm is not accepted";
        case TokenFault::unknown_key: return "its key is not known";
        case TokenFault::signature: return "its signature is wrong";
        case TokenFault::expired: return "it has expired";
        case TokenFault::not_yet: return "it is not valid yet";
        case TokenFault::issuer: return "it is from another issuer";
        case TokenFault::audience: return "it is for another audience";
    }
    return {};
}

TokenReading read_token(std::string_view text, const KeySet& keys, const TokenOptions& options,
                        std::chrono::seconds now) {
    // A JWS is written without padding (RFC 7515, 2), but cjose accepts padding.
    // Extensions must be understood, and none is (RFC 7515, 4.1.11).
    if (text.size() > longest_token || text.find('=') != std::string_view::npos ||
        names_extensions(text)) {
        return {.fault = TokenFault::malformed};
    }
    cjose_err error{};
    const std::unique_ptr<cjose_jws_t, decltype(&cjose_jws_release)> token(
        cjose_jws_import(text.data(), text.size(), &error), &cjose_jws_release);
    if (!token) return {.fault = TokenFault::malformed};
    if (const auto fault = verify(*token, keys)) return {.fault = fault};
    std::uint8_t* bytes = nullptr;  // owned by the token
    std::size_t size = 0;
    if (!cjose_jws_get_plaintext(token.get(), &bytes, &size, &error)) {
        return {.fault = TokenFault::malformed};
    }
    const Json claims = Json::parse(bytes, bytes + size, nullptr, false);
    if (!claims.is_object()) return {.fault = TokenFault::malformed};
    if (const auto fault = judge(claims, options, now)) return {.fault = fault};
    TokenReading reading;
    for (const auto& [name, value] : claims.items()) {
        if (value.is_string()) reading.claims[name] = value.get<std::string>();
        if (value.is_number_integer()) reading.claims[name] = value.dump();
    }
    return reading;
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
    constexpr std::size_t scheme = 6;
    if (authorization.size() < scheme + 2 ||
        !same_header(authorization.substr(0, scheme), "Bearer") || authorization[scheme] != ' ') {
        return std::nullopt;
    }
    authorization.remove_prefix(scheme);
    while (authorization.starts_with(' ')) authorization.remove_prefix(1);
    if (authorization.empty() || authorization.find(' ') != std::string_view::npos) {
        return std::nullopt;
    }
    return authorization;
}

}  // namespace onceward
