#include "dedup/message/digest.h"

// EVP, which OpenSSL 3 wants in its place, costs twice as much for the few bytes of a key.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <stdexcept>

#include "dedup/base/mutants.h"

namespace onceward {
namespace {

class Hasher {
  public:
    Hasher() { check(SHA256_Init(&state_)); }
    void add(std::string_view bytes) { check(SHA256_Update(&state_, bytes.data(), bytes.size())); }
    void add_part(std::string_view part) {
        const auto size = static_cast<std::uint64_t>(part.size());
        char prefix[8];
        for (int i = 0; i < 8; ++i) prefix[i] = static_cast<char>(size >> (56 - 8 * i));
        add({prefix, sizeof prefix});
        add(part);
    }
    Digest end() {
        std::array<unsigned char, SHA256_DIGEST_LENGTH> whole;
        check(SHA256_Final(whole.data(), &state_));
        Digest digest;
        std::memcpy(digest.bytes.data(), whole.data(), digest.bytes.size());
        return digest;
    }

  private:
    static void check(int result) {
        if (result != 1) throw std::runtime_error("OpenSSL failed to compute SHA-256");
    }
    SHA256_CTX state_;
};

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

Digest digest_of(const IdempotencyKey& key) {
    Hasher hash;
    hash.add_part(key.operation);
    hash.add_part(key.tenant);
    hash.add_part(key.kind);
    if (mutant("text_keys_cut_at_nul")) {
        hash.add_part(key.text.substr(0, key.text.find('\0')));
    } else {
        hash.add_part(key.text);
    }
    return hash.end();
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

Digest digest_of_bytes(std::string_view bytes) {
    Hasher hash;
    hash.add(bytes);
    return hash.end();
}

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
