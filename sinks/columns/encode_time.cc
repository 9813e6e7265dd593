#include "dedup/postgres/binary.h"
#include "sinks/columns/column_encoder.h"
#include "dedup/base/iso_time.h"

namespace onceward::encode {
namespace {

using std::chrono::microseconds;

// PostgreSQL counts from 2000-01-01.
constexpr std::chrono::days epoch_days{10957};
constexpr microseconds epoch{epoch_days};
// 4714-11-24 BC up to, and without, 294277-01-01.
constexpr microseconds earliest{-211'813'488'000'000'000};
constexpr microseconds end{9'223'371'331'200'000'000};

constexpr Misfit time_out_of_range = "is a time out of the type's range";
constexpr Misfit no_unit =
    "is a number whose unit (seconds, milliseconds, ...) is not known; send ISO 8601 text";

bool is_text(const Value& value) {
    return value.kind == Value::Kind::text || value.kind == Value::Kind::bytes;
}

bool is_number(const Value& value) {
    return value.kind == Value::Kind::number || value.kind == Value::Kind::integer ||
           value.kind == Value::Kind::natural || value.kind == Value::Kind::real;
}

Misfit append_moment(microseconds since_1970, std::string& out) {
    std::int64_t value = 0;
    if (__builtin_sub_overflow(since_1970.count(), epoch.count(), &value) ||
        value < earliest.count() || value >= end.count()) {
        return time_out_of_range;
    }
    binary::put64(out, static_cast<std::uint64_t>(value));
    return {};
}

}  // namespace

Misfit date(const Value& value, std::string& out) {
    if (is_number(value)) return no_unit;
    if (value.kind == Value::Kind::timestamp) return "is a point in time, not a date";
    const auto date = is_text(value) ? parse_iso_date(value.text) : std::nullopt;
    if (!date) return "is not an ISO 8601 date such as 2024-05-31";
    binary::put32(out, static_cast<std::uint32_t>((*date - epoch_days).count()));
    return {};
}

Misfit time_of_day(const Value& value, std::string& out) {
    if (is_number(value)) return no_unit;
    const auto time = is_text(value) ? parse_iso_time(value.text) : std::nullopt;
    if (!time) return "is not an ISO 8601 time of day such as 07:08:09.5";
    binary::put64(out, static_cast<std::uint64_t>(time->count()));
    return {};
}

Misfit moment(const Value& value, TypeKind kind, std::string& out) {
    if (value.kind == Value::Kind::timestamp) {
        return append_moment(microseconds{value.integer}, out);
    }
    if (is_number(value)) return no_unit;
    const bool zone = kind == TypeKind::timestamptz;
    const auto moment = is_text(value) ? parse_iso_moment(value.text) : std::nullopt;
    if (!moment) {
        return zone ? "is not an ISO 8601 date and time such as 2024-05-31T07:08:09Z"
                    : "is not an ISO 8601 date and time such as 2024-05-31T07:08:09";
    }
    // PostgreSQL would take the session's time zone, which says nothing about the sender's.
    if (zone && !moment->offset) {
        return "has no offset from UTC (such as Z), so it is not a point in time";
    }
    const std::chrono::minutes offset = moment->offset.value_or(std::chrono::minutes{0});
    // PostgreSQL would drop any offset silently.
    if (!zone && offset != std::chrono::minutes{0}) {
        return "has an offset from UTC, which a timestamp without time zone cannot keep";
    }
    return append_moment(moment->local - offset, out);
}

}  // namespace onceward::encode
