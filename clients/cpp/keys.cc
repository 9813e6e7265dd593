#include "clients/cpp/keys.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <stdexcept>

namespace onceward::client {
namespace {

constexpr double least_bits = 64;
constexpr std::size_t longest_key = 255;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string hex(std::span<const unsigned char> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::array<unsigned char, 16> random_bytes() {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), bytes.size()) != 1) {
        throw std::runtime_error("OpenSSL has no random bytes");
    }
    return bytes;
}

// Most that a text can hold whose characters come this often.
double bits(std::string_view text) {
    std::array<int, 256> counts{};
    for (const char c : text) ++counts[static_cast<unsigned char>(c)];
    double sum = 0;
    for (const int count : counts) {
        if (count > 0) sum -= count * std::log2(count / static_cast<double>(text.size()));
    }
    return sum;
}

std::size_t number_begins(std::string_view text) {
    std::size_t begin = text.size();
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    return begin;
}

// `text` ends in digits from `begin` on; returns the same with the next higher number, of as many
// digits.
std::string counted_up(std::string_view text, std::size_t begin) {
    std::string next(text);
    for (std::size_t at = next.size(); at > begin; --at) {
        if (next[at - 1] != '9') {
            ++next[at - 1];
            return next;
        }
        next[at - 1] = '0';
    }
    return next.insert(begin, 1, '1');
}

bool follows(std::string_view key, std::string_view previous) {
    const std::size_t one = number_begins(key);
    const std::size_t other = number_begins(previous);
    if (one == key.size() || other == previous.size()) return false;
    return counted_up(previous, other) == key || counted_up(key, one) == previous;
}

}  // namespace

std::string mint_key(bool uuid7) {
    std::array<unsigned char, 16> bytes = random_bytes();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    for (std::size_t i = 0; uuid7 && i < 6; ++i) {
        bytes[i] = static_cast<unsigned char>(milliseconds >> (40 - 8 * i));
    }
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | (uuid7 ? 0x70 : 0x40));
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
    std::string text = hex(bytes);
    for (const std::size_t at : {20U, 16U, 12U, 8U}) text.insert(at, 1, '-');
    return text;
}

void check_key(std::string_view key) {
    const auto fits = [](char c) {
        return c > 0x20 && c < 0x7F && c != ',' && c != '"' && c != '\\';
    };
    if (key.empty() || key.size() > longest_key || !std::ranges::all_of(key, fits)) {
        throw std::invalid_argument(
            "an idempotency key is 1 to 255 characters of printable ASCII, without blanks, commas, "
            "quotes and backslashes");
    }
}

std::string weakness(std::string_view key, std::string_view previous) {
    if (std::ranges::all_of(key, is_digit))
        return "it is a number, as a counter or a clock gives it";
    if (follows(key, previous)) return "it follows the one before, as a counter does";
    if (bits(key) < least_bits) return "it is short, or of few different characters";
    return "";
}

std::string sha256(std::string_view text) {
    std::array<unsigned char, 32> digest{};
    if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) {
        throw std::runtime_error("OpenSSL has no SHA-256");
    }
    return hex(digest);
}

std::string random_hex() { return hex(random_bytes()); }

std::string fingerprint_of(std::string_view method, std::string_view target,
                           std::string_view body) {
    std::string text(method);
    return sha256(text.append("\n").append(target).append("\n").append(body));
}

}  // namespace onceward::client
