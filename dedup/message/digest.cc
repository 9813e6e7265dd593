#include "dedup/message/digest.h"

// OpenSSL 3 wants EVP instead, but for the few bytes of a key that costs twice as much.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <stdexcept>

#include "dedup/base/mutants.h"
#include "dedup/base/network_order.h"

namespace onceward {
namespace {

// It does not use SHA256(), which in OpenSSL 3 looks the algorithm up in each call.
Digest sha256(std::string_view bytes) {
    SHA256_CTX state;
    std::array<unsigned char, SHA256_DIGEST_LENGTH> whole;
    if (SHA256_Init(&state) != 1 || SHA256_Update(&state, bytes.data(), bytes.size()) != 1 ||
        SHA256_Final(whole.data(), &state) != 1) {
        throw std::runtime_error("OpenSSL failed to compute SHA-256");
    }
    Digest digest;
    std::memcpy(digest.bytes.data(), whole.data(), digest.bytes.size());
    return digest;
}

char* put_part(char* at, std::string_view part) {
    const std::uint64_t size = network_order(static_cast<std::uint64_t>(part.size()));
    std::memcpy(at, &size, sizeof size);
    at += sizeof size;
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    return at + part.size();
}

std::string raw_hmac_sha256(std::string_view secret, std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw;
    unsigned int length = 0;
    if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), raw.data(),
             &length) == nullptr) {
        throw std::runtime_error("OpenSSL failed to compute an HMAC");
    }
    return {reinterpret_cast<const char*>(raw.data()), length};
}

}  // namespace

// The parts are put together first: hashing them one by one costs more than the hash itself.
Digest digest_of(const IdempotencyKey& key) {
    std::string_view text = key.text;
    if (mutant("text_keys_cut_at_nul")) text = text.substr(0, text.find('\0'));
    const std::array parts{key.operation, key.tenant, key.kind, text};
    std::size_t size = 0;
    for (const std::string_view part : parts) size += sizeof(std::uint64_t) + part.size();
    std::array<char, 512> most;  // Nearly every key fits.
    std::string large;
    if (size > most.size()) large.resize(size);
    char* const begin = large.empty() ? most.data() : large.data();
    char* at = begin;
    for (const std::string_view part : parts) at = put_part(at, part);
    return sha256({begin, size});
}

std::string hmac_sha256(std::string_view secret, std::string_view text) {
    return hex(raw_hmac_sha256(secret, text));
}

std::string standard_webhooks_signature(std::string_view key, std::string_view id,
                                        std::string_view time, std::string_view body) {
    std::string text;
    for (const std::string_view part : {id, time}) text.append(part).push_back('.');
    return base64(raw_hmac_sha256(key, text.append(body)));
}

std::optional<std::string> standard_webhooks_key(std::string_view secret) {
    constexpr std::string_view prefix = "whsec_";
    if (secret.starts_with(prefix)) secret.remove_prefix(prefix.size());
    std::string key;
    if (!append_base64(secret, key) || key.size() < 24 || key.size() > 64) return std::nullopt;
    return key;
}

Digest digest_of_bytes(std::string_view bytes) { return sha256(bytes); }

std::string uuid_text(const Digest& digest) {
    std::string text = hex(digest);
    for (const std::size_t position : {8U, 13U, 18U, 23U}) text.insert(position, 1, '-');
    return text;
}

std::string downstream_key(const Digest& digest) {
    Digest key = digest_of_bytes("onceward downstream key\n" + std::string(bytes_of(digest)));
    key.bytes[6] = static_cast<std::uint8_t>((key.bytes[6] & 0x0F) | 0x50);
    key.bytes[8] = static_cast<std::uint8_t>((key.bytes[8] & 0x3F) | 0x80);
    return uuid_text(key);
}

std::optional<Digest> parse_uuid(std::string_view text) {
    Digest digest;
    std::size_t digits = 0;
    for (const char letter : text) {
        if (letter == '-') continue;
        const int value = hex_value(letter);
        if (value < 0 || digits == 2 * digest.bytes.size()) return std::nullopt;
        std::uint8_t& byte = digest.bytes[digits++ / 2];
        byte = static_cast<std::uint8_t>(byte << 4 | value);
    }
    return digits == 2 * digest.bytes.size() ? std::optional(digest) : std::nullopt;
}

Digest random_digest() {
    Digest digest;
    if (RAND_bytes(digest.bytes.data(), static_cast<int>(digest.bytes.size())) != 1) {
        throw std::runtime_error("OpenSSL has no random bytes");
    }
    return digest;
}

std::string new_uuid() {
    Digest random = random_digest();
    random.bytes[6] = static_cast<std::uint8_t>((random.bytes[6] & 0x0F) | 0x40);
    random.bytes[8] = static_cast<std::uint8_t>((random.bytes[8] & 0x3F) | 0x80);
    return uuid_text(random);
}

}  // namespace onceward
