#pragma once
// The bytes of a number in network order (RFC 1700: the highest first). Pure, thread-safe.

#include <bit>
#include <cstdint>

namespace onceward {

// A number whose bytes in memory are those of `value` in network order. It is written as a whole:
// a number that was just written byte by byte makes the processor wait when it is read as one.
constexpr std::uint16_t network_order(std::uint16_t value) {
    return std::endian::native == std::endian::big ? value : __builtin_bswap16(value);
}
constexpr std::uint32_t network_order(std::uint32_t value) {
    return std::endian::native == std::endian::big ? value : __builtin_bswap32(value);
}
constexpr std::uint64_t network_order(std::uint64_t value) {
    return std::endian::native == std::endian::big ? value : __builtin_bswap64(value);
}

}  // namespace onceward
