#include "inbox/cpp/uuid.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <stdexcept>

#include "inbox/cpp/errors.h"

namespace onceward::pqxx {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

bool is_hyphen_place(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

std::optional<Uuid::Bytes> read(std::string_view text) {
    if (text.size() != 36) return std::nullopt;
    Uuid::Bytes bytes{};
    std::size_t nibbles = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (is_hyphen_place(at)) {
            if (text[at] != '-') return std::nullopt;
            continue;
        }
        const char c = text[at];
        const auto value = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c | 0x20) : c);
        if (value == std::string_view::npos) return std::nullopt;
        unsigned char& byte = bytes[nibbles / 2];
        byte = static_cast<unsigned char>(byte << 4 | value);
        ++nibbles;
    }
    return bytes;
}

Uuid::Bytes random_bytes(unsigned char version) {
    Uuid::Bytes bytes{};
    if (RAND_bytes(bytes.data(), bytes.size()) != 1) {
        throw std::runtime_error("OpenSSL has no random bytes");
    }
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | version << 4);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    return bytes;
}

}  // namespace

Uuid Uuid::random() { return Uuid(random_bytes(4)); }

Uuid Uuid::parse(std::string_view text) {
    if (const auto bytes = read(text)) return Uuid(*bytes);
    throw Refused(Refusal::argument, '"' + std::string(text) + "\" is not a UUID");
}

std::string Uuid::text() const {
    std::string text;
    for (const unsigned char byte : bytes_) {
        if (is_hyphen_place(text.size())) text += '-';
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

Uuid fingerprint_of(std::string_view content) {
    std::array<unsigned char, 32> sum{};
    if (EVP_Digest(content.data(), content.size(), sum.data(), nullptr, EVP_sha256(), nullptr) !=
        1) {
        throw std::runtime_error("OpenSSL has no SHA-256");
    }
    Uuid::Bytes bytes{};
    std::copy_n(sum.begin(), bytes.size(), bytes.begin());
    return Uuid(bytes);
}

Uuid uuid7() {
    Uuid::Bytes bytes = random_bytes(7);
    const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now())
                         .time_since_epoch()
                         .count();
    for (int at = 0; at < 6; ++at) {
        bytes[at] = static_cast<unsigned char>(now >> (40 - 8 * at));
    }
    return Uuid(bytes);
}

std::optional<Time> minted_at_of_uuid7(std::string_view key) {
    const auto bytes = read(key);
    if (!bytes || (*bytes)[6] >> 4 != 7 || (*bytes)[8] >> 6 != 2) return std::nullopt;
    std::int64_t milliseconds = 0;
    for (int at = 0; at < 6; ++at) milliseconds = milliseconds << 8 | (*bytes)[at];
    return Time(std::chrono::milliseconds(milliseconds));
}

}  // namespace onceward::pqxx
