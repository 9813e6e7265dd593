#include "dedup/postgres/parameters.h"

#include "dedup/postgres/binary.h"

namespace onceward {
namespace {

// One dimension, lower bound 1 (src/backend/utils/adt/arrayfuncs.c, array_send).
std::string array_header(std::uint32_t element_type, std::size_t size, bool has_null) {
    std::string out;
    binary::put32(out, size == 0 ? 0 : 1);
    binary::put32(out, has_null ? 1 : 0);
    binary::put32(out, element_type);
    if (size != 0) {
        binary::put32(out, static_cast<std::uint32_t>(size));
        binary::put32(out, 1);
    }
    return out;
}

}  // namespace

Parameters& Parameters::add(std::uint32_t type, std::optional<std::string> value, int format) {
    slots_.push_back({type, std::move(value), format});
    return *this;
}

Parameters& Parameters::text(std::string_view value) {
    // Binary text, so that a NUL is refused by the server instead of ending the value unseen.
    return add(0, std::string(value), value.find('\0') == std::string_view::npos ? 0 : 1);
}
Parameters& Parameters::optional_text(const std::optional<std::string>& value) {
    return value ? text(std::string_view(*value)) : null();
}
Parameters& Parameters::integer(std::int64_t value) { return add(0, std::to_string(value), 0); }
Parameters& Parameters::optional_integer(const std::optional<std::int64_t>& value) {
    return value ? integer(*value) : null();
}
Parameters& Parameters::boolean(bool value) { return add(0, value ? "t" : "f", 0); }
Parameters& Parameters::bytes(std::string_view value) {
    return add(binary::bytea_type, std::string(value), 1);
}
Parameters& Parameters::optional_bytes(const std::optional<std::string>& value) {
    return value ? bytes(*value) : null();
}
Parameters& Parameters::null() { return add(0, std::nullopt, 0); }

Parameters& Parameters::digest(const Digest& value) {
    return add(binary::uuid_type, std::string(bytes_of(value)), 1);
}

Parameters& Parameters::digests(std::span<const Digest> values) {
    std::string out = array_header(binary::uuid_type, values.size(), false);
    out.reserve(out.size() + values.size() * 20);
    for (const Digest& value : values) binary::put_field(out, bytes_of(value));
    return add(binary::uuid_array_type, std::move(out), 1);
}

Parameters& Parameters::optional_digests(std::span<const std::optional<Digest>> values) {
    std::string out = array_header(binary::uuid_type, values.size(), true);
    for (const auto& value : values) {
        binary::put_optional_field(out, value ? std::optional(bytes_of(*value)) : std::nullopt);
    }
    return add(binary::uuid_array_type, std::move(out), 1);
}

Parameters& Parameters::integers(std::span<const std::int64_t> values) {
    std::string out = array_header(binary::int8_type, values.size(), false);
    for (const std::int64_t value : values) {
        binary::put32(out, 8);
        binary::put64(out, static_cast<std::uint64_t>(value));
    }
    return add(binary::int8_array_type, std::move(out), 1);
}

Parameters& Parameters::small_integers(std::span<const std::int32_t> values) {
    std::string out = array_header(binary::int4_type, values.size(), false);
    for (const std::int32_t value : values) {
        binary::put32(out, 4);
        binary::put32(out, static_cast<std::uint32_t>(value));
    }
    return add(binary::int4_array_type, std::move(out), 1);
}

Parameters& Parameters::texts(std::span<const std::optional<std::string_view>> values) {
    return binary_array(binary::text_array_type, binary::text_type, values);
}

Parameters& Parameters::byte_strings(std::span<const std::optional<std::string_view>> values) {
    return binary_array(binary::bytea_array_type, binary::bytea_type, values);
}

Parameters& Parameters::binary(std::uint32_t type, const std::optional<std::string_view>& value) {
    return add(type, value ? std::optional(std::string(*value)) : std::nullopt, 1);
}

Parameters& Parameters::binary_array(std::uint32_t array_type, std::uint32_t element_type,
                                     std::span<const std::optional<std::string_view>> elements) {
    std::string out = array_header(element_type, elements.size(), true);
    for (const auto& element : elements) binary::put_optional_field(out, element);
    return add(array_type, std::move(out), 1);
}

Parameters::View Parameters::view() const {
    View view;
    for (const Slot& slot : slots_) {
        view.types.push_back(slot.type);
        view.values.push_back(slot.value ? slot.value->c_str() : nullptr);
        view.lengths.push_back(slot.value ? static_cast<int>(slot.value->size()) : 0);
        view.formats.push_back(slot.format);
    }
    return view;
}

}  // namespace onceward
