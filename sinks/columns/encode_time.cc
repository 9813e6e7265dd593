#include "dedup/base/iso_time.h"
#include "dedup/postgres/binary.h"
#include "sinks/columns/column_encoder.h"

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
    "is a number whose unit (seconds, milliseconds, ...) is not known; send ISO 8601 text, or name "
    "the unit with `convert`";
constexpr Misfit too_fine =
    "is a time with more digits of a second than the column keeps (`lossy: round` would round it)";

bool is_text(const Value& value) {
    return value.kind == Value::Kind::text || value.kind == Value::Kind::bytes;
}

bool is_number(const Value& value) {
    return value.kind == Value::Kind::number || value.kind == Value::Kind::integer ||
           value.kind == Value::Kind::natural || value.kind == Value::Kind::real;
}

// Takes what is finer than the column off `value`, which counts from PostgreSQL's epoch.
Misfit fit(std::int64_t& value, const FinerThanMicros& finer, const ColumnType& type,
           Lossy lossy) {
    if (finer.any && lossy == Lossy::refuse) return too_fine;
    if (lossy == Lossy::round && finer.as_postgresql) ++value;
    if (type.second_digits == 6) return {};
    std::int64_t unit = 1;
    for (int digit = type.second_digits; digit < 6; ++digit) unit *= 10;
    const std::int64_t rest = (value % unit + unit) % unit;
    if (rest == 0) return {};
    if (lossy == Lossy::refuse) return too_fine;
    // PostgreSQL rounds half away from its epoch.
    const bool up = value >= 0 ? 2 * rest >= unit : 2 * rest > unit;
    value += lossy == Lossy::round && up ? unit - rest : -rest;
    return {};
}

Misfit append_moment(microseconds since_1970, const FinerThanMicros& finer, const ColumnType& type,
                     Lossy lossy, std::string& out) {
    std::int64_t value = 0;
    if (__builtin_sub_overflow(since_1970.count(), epoch.count(), &value) ||
        value < earliest.count() || value >= end.count()) {
        return time_out_of_range;
    }
    if (const Misfit misfit = fit(value, finer, type, lossy); !misfit.empty()) return misfit;
    if (value >= end.count()) return time_out_of_range;
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

Misfit time_of_day(const Value& value, const ColumnType& type, Lossy lossy, std::string& out) {
    if (is_number(value)) return no_unit;
    const auto time = is_text(value) ? parse_iso_time(value.text) : std::nullopt;
    if (!time) return "is not an ISO 8601 time of day such as 07:08:09.5";
    std::int64_t count = time->time.count();
    if (const Misfit misfit = fit(count, time->finer, type, lossy); !misfit.empty()) return misfit;
    if (count > microseconds(std::chrono::hours{24}).count()) return time_out_of_range;
    binary::put64(out, static_cast<std::uint64_t>(count));
    return {};
}

Misfit moment(const Value& value, const ColumnType& type, Lossy lossy, std::string& out) {
    if (value.kind == Value::Kind::timestamp) {
        const auto whole =
            value.text.empty() ? std::nullopt : parse_iso_moment(value.text);  // rarely
        return append_moment(microseconds{value.integer},
                             whole ? whole->finer : FinerThanMicros{}, type, lossy, out);
    }
    if (is_number(value)) return no_unit;
    const bool zone = type.kind == TypeKind::timestamptz;
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
    return append_moment(moment->local - offset, moment->finer, type, lossy, out);
}

}  // namespace onceward::encode
