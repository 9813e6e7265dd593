#include "dedup/sink/packed_headers.h"

#include <stdexcept>

#include "dedup/postgres/binary.h"

namespace onceward {
namespace {

constexpr std::size_t length_bytes = 4;

std::string_view take(std::string_view& bytes, std::size_t size) {
    if (bytes.size() < size) throw std::runtime_error("the headers are cut short");
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
}

// The field's bytes; nullopt for a null.
std::optional<std::string_view> take_field(std::string_view& bytes) {
    const std::uint32_t length = binary::get32(take(bytes, length_bytes));
    if (length == binary::null_length) return std::nullopt;
    return take(bytes, length);
}

}  // namespace

std::string header_bytes(std::span<const Header> headers) {
    std::string bytes;
    for (const Header& header : headers) {
        binary::put_field(bytes, header.name);
        binary::put_optional_field(bytes, header.value);
    }
    return bytes;
}

std::vector<Header> headers_of(std::string_view bytes) {
    std::vector<Header> headers;
    while (!bytes.empty()) {
        const std::optional<std::string_view> name = take_field(bytes);
        if (!name) throw std::runtime_error("a header has no name");
        headers.push_back({*name, take_field(bytes)});
    }
    return headers;
}

}  // namespace onceward
