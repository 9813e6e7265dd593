#pragma once
// Avro's binary encoding as far as tests write it, and Confluent's frame around it. Pure.

#include <cstdint>
#include <string>

namespace onceward::kafka_tests {

inline std::string avro_long(std::int64_t value) {
    auto rest = static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    std::string bytes;
    for (; rest > 0x7f; rest >>= 7) bytes += static_cast<char>((rest & 0x7f) | 0x80);
    return bytes + static_cast<char>(rest);
}

// A string, or bytes.
inline std::string avro_text(const std::string& bytes) {
    return avro_long(static_cast<std::int64_t>(bytes.size())) + bytes;
}

inline std::string big_endian(int id) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(id >> shift & 0xff);
    return bytes;
}

inline std::string framed(int schema, const std::string& payload) {
    return std::string(1, '\0') + big_endian(schema) + payload;
}

}  // namespace onceward::kafka_tests
