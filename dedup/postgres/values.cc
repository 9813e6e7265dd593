#include "dedup/postgres/values.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <cstring>

#include "dedup/base/text.h"
#include "dedup/postgres/binary.h"

namespace onceward {
namespace {

// One dimension, lower bound 1 (src/backend/utils/adt/arrayfuncs.c, array_send). `put` appends an
// element with its length.
template <class Values, class Put>
std::string array_of(std::uint32_t element_type, bool has_null, const Values& values, Put put) {
    std::string out;
    out.reserve(20 + values.size() * 20);
    binary::put32(out, values.empty() ? 0 : 1);
    binary::put32(out, has_null ? 1 : 0);
    binary::put32(out, element_type);
    if (!values.empty()) {
        binary::put32(out, static_cast<std::uint32_t>(values.size()));
        binary::put32(out, 1);
    }
    for (const auto& value : values) put(out, value);
    return out;
}

}  // namespace

std::string rows_of_parameters(std::size_t rows, std::span<const std::string_view> types) {
    std::string list;
    std::size_t number = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        list.append(row == 0 ? "(" : ", (");
        for (std::size_t column = 0; column < types.size(); ++column) {
            list.append(column == 0 ? "$" : ", $").append(std::to_string(++number));
            if (!types[column].empty()) list.append("::").append(types[column]);
        }
        list.append(")");
    }
    return list;
}

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
    const auto put = [](std::string& out, const Digest& value) {
        binary::put_field(out, bytes_of(value));
    };
    return add(binary::uuid_array_type, array_of(binary::uuid_type, false, values, put), 1);
}

Parameters& Parameters::optional_digests(std::span<const std::optional<Digest>> values) {
    const auto put = [](std::string& out, const std::optional<Digest>& value) {
        binary::put_optional_field(out, value ? std::optional(bytes_of(*value)) : std::nullopt);
    };
    return add(binary::uuid_array_type, array_of(binary::uuid_type, true, values, put), 1);
}

Parameters& Parameters::integers(std::span<const std::int64_t> values) {
    const auto put = [](std::string& out, std::int64_t value) {
        binary::put32(out, 8);
        binary::put64(out, static_cast<std::uint64_t>(value));
    };
    return add(binary::int8_array_type, array_of(binary::int8_type, false, values, put), 1);
}

Parameters& Parameters::small_integers(std::span<const std::int32_t> values) {
    const auto put = [](std::string& out, std::int32_t value) {
        binary::put32(out, 4);
        binary::put32(out, static_cast<std::uint32_t>(value));
    };
    return add(binary::int4_array_type, array_of(binary::int4_type, false, values, put), 1);
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
    return add(array_type, array_of(element_type, true, elements, binary::put_optional_field), 1);
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

void QueryResult::Clear::operator()(pg_result* result) const { PQclear(result); }

QueryResult::QueryResult(pg_result* result) : result_(result) {}

int QueryResult::rows() const { return PQntuples(result_.get()); }
int QueryResult::columns() const { return PQnfields(result_.get()); }

std::int64_t QueryResult::affected() const {
    return number_of<std::int64_t>(PQcmdTuples(result_.get())).value_or(0);
}

std::string_view QueryResult::tag() const { return PQcmdStatus(result_.get()); }

bool QueryResult::is_null(int row, int column) const {
    return PQgetisnull(result_.get(), row, column) != 0;
}

bool QueryResult::is_number(int column) const {
    const auto type = PQftype(result_.get(), column);
    return type == binary::int4_type || type == binary::int8_type;
}

std::string_view QueryResult::text(int row, int column) const {
    if (row >= rows() || column >= columns()) std::abort();
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

char QueryResult::letter(int row, int column) const {
    const std::string_view found = text(row, column);
    return found.empty() ? '\0' : found[0];
}

std::optional<std::string_view> QueryResult::optional_text(int row, int column) const {
    if (is_null(row, column)) return std::nullopt;
    return text(row, column);
}

std::int64_t QueryResult::integer(int row, int column) const {
    const auto value = number_of<std::int64_t>(text(row, column));
    if (!value) std::abort();
    return *value;
}

bool QueryResult::boolean(int row, int column) const { return text(row, column) == "t"; }

std::int64_t QueryResult::binary_integer(int row, int column) const {
    const std::string_view raw = text(row, column);
    if (raw.size() != 2 && raw.size() != 4 && raw.size() != 8) std::abort();
    // The first byte carries the sign.
    std::int64_t value = static_cast<std::int8_t>(raw[0]);
    for (std::size_t i = 1; i < raw.size(); ++i) {
        value = static_cast<std::int64_t>((static_cast<std::uint64_t>(value) << 8) |
                                          static_cast<std::uint8_t>(raw[i]));
    }
    return value;
}

Digest QueryResult::binary_digest(int row, int column) const {
    const std::string_view raw = text(row, column);
    Digest digest;
    if (raw.size() != digest.bytes.size()) std::abort();
    std::memcpy(digest.bytes.data(), raw.data(), raw.size());
    return digest;
}

}  // namespace onceward
