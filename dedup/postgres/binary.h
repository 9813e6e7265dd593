#pragma once
// PostgreSQL's binary form of numbers and rows: network byte order. Pure, thread-safe.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "dedup/base/network_order.h"

namespace onceward::binary {

template <class Number>
void put(std::string& out, Number value) {
    const Number raw = network_order(value);
    out.append(reinterpret_cast<const char*>(&raw), sizeof raw);
}
inline void put16(std::string& out, std::uint16_t value) { put(out, value); }
inline void put32(std::string& out, std::uint32_t value) { put(out, value); }
inline void put64(std::string& out, std::uint64_t value) { put(out, value); }

// Overwrites four existing bytes, from `at` on.
inline void set32(std::string& out, std::size_t at, std::uint32_t value) {
    const std::uint32_t raw = network_order(value);
    std::memcpy(out.data() + at, &raw, sizeof raw);
}

// REQUIRES: four bytes at least.
inline std::uint32_t get32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

// A field's length, and the field.
inline void put_field(std::string& out, std::string_view bytes) {
    put32(out, static_cast<std::uint32_t>(bytes.size()));
    out.append(bytes);
}

// Stands in place of a field's length: the field is NULL, and no bytes follow.
inline constexpr std::uint32_t null_length = 0xFFFFFFFF;
inline void put_optional_field(std::string& out, std::optional<std::string_view> bytes) {
    if (bytes) return put_field(out, *bytes);
    put32(out, null_length);
}

// Around the rows of a binary COPY, as PostgreSQL's documentation of COPY has them: signature, no
// flags, no extension of the header; and the number of fields -1.
inline constexpr std::string_view copy_header{"PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19};
inline constexpr std::string_view copy_trailer{"\377\377", 2};

// Types' object ids, fixed in PostgreSQL's catalog (pg_type.dat).
inline constexpr std::uint32_t bool_type = 16, bytea_type = 17, int8_type = 20, int4_type = 23,
                               text_type = 25, uuid_type = 2950;
inline constexpr std::uint32_t bytea_array_type = 1001, int4_array_type = 1007,
                               text_array_type = 1009, int8_array_type = 1016,
                               uuid_array_type = 2951;

}  // namespace onceward::binary
