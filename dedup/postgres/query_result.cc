#include "dedup/postgres/query_result.h"

#include <libpq-fe.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "dedup/postgres/binary.h"

namespace onceward {

void QueryResult::Clear::operator()(pg_result* result) const { PQclear(result); }

QueryResult::QueryResult(pg_result* result) : result_(result) {}

int QueryResult::rows() const { return PQntuples(result_.get()); }
int QueryResult::columns() const { return PQnfields(result_.get()); }

std::int64_t QueryResult::affected() const {
    const char* text = PQcmdTuples(result_.get());
    std::int64_t value = 0;
    std::from_chars(text, text + std::strlen(text), value);
    return value;
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

std::optional<std::string_view> QueryResult::optional_text(int row, int column) const {
    if (is_null(row, column)) return std::nullopt;
    return text(row, column);
}

std::int64_t QueryResult::integer(int row, int column) const {
    const std::string_view digits = text(row, column);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) std::abort();
    return value;
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
