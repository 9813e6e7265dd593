#include <chrono>

#include "dedup/base/iso_time.h"
#include "dedup/base/text.h"
#include "sinks/columns/convert.h"

namespace onceward::steps {
namespace {

using std::chrono::days;
using std::chrono::microseconds;

constexpr microseconds first_moment{-62'135'596'800'000'000};  // 0001-01-01
constexpr microseconds end_of_moments{253'402'300'800'000'000};  // 10000-01-01
constexpr Misfit no_moment = "is a time outside the years 1 to 9999";

// A point in time or a time of day: the microseconds up to it, and digits that are finer.
struct Instant {
    microseconds time{};
    std::string finer{};
};

// How many places the decimal point of a count moves to make it microseconds.
int places_of(Conversion::Kind kind) {
    switch (kind) {
        case Conversion::Kind::epoch_seconds: return 6;
        case Conversion::Kind::epoch_millis: return 3;
        case Conversion::Kind::epoch_nanos: return -3;
        default: return 0;
    }
}

// Takes the fraction off the number, as digits. The number becomes the next whole number below.
std::string take_fraction(Decimal& number) {
    const int places = -number.exponent;
    if (places <= 0) return "";
    std::string fraction = number.digits;
    if (static_cast<int>(fraction.size()) < places) {
        fraction.insert(0, places - fraction.size(), '0');
    }
    fraction.erase(0, fraction.size() - places);
    while (fraction.ends_with('0')) fraction.pop_back();
    static_cast<void>(fit_scale(number, 0, Lossy::truncate));
    return fraction;
}

// 1 minus the fraction.
std::string complement(std::string fraction) {
    for (char& digit : fraction) digit = static_cast<char>('0' + '9' - digit);
    ++fraction.back();  // its last digit was not 0
    return fraction;
}

std::optional<Instant> instant_of(Decimal count) {
    // As many digits as the whole range has, and some for what is finer than a nanosecond.
    constexpr int most_digits = 40;
    if (static_cast<int>(count.digits.size()) > most_digits) return std::nullopt;
    if (!count.digits.empty() && digits_before_point(count) < -most_digits) return std::nullopt;
    if (count.digits.empty()) count.exponent = 0;
    Instant instant;
    instant.finer = take_fraction(count);
    const auto whole = whole_number(count);
    if (!whole) return std::nullopt;
    instant.time = microseconds{*whole};
    if (count.negative && !instant.finer.empty()) {
        instant.finer = complement(instant.finer);
        instant.time -= microseconds{1};
    }
    return instant;
}

// 24:00:00 is written as 23:59:60, which is its form in the texts that columns read.
void write_time_of_day(const Instant& time, Value& value, std::string& room) {
    const bool end = time.time == std::chrono::hours{24};
    room = end ? "23:59:60.000000" : iso_text(time.time).substr(11, 15);
    room += time.finer;
    value = {Value::Kind::text, {}, room};
}

void write_moment(const Instant& moment, Value& value, std::string& room) {
    value = {Value::Kind::timestamp, {}, {}};
    value.integer = moment.time.count();
    if (moment.finer.empty()) return;
    room = iso_text(moment.time);
    room.insert(room.size() - 1, moment.finer);
    value.text = room;
}

Misfit write_date(const Instant& moment, TypeKind target, Lossy lossy, Value& value,
                  std::string& room) {
    const days day = std::chrono::floor<days>(moment.time);
    if ((day != moment.time || !moment.finer.empty()) && lossy != Lossy::truncate) {
        return "is not midnight in UTC, so a date would lose its time of day (`lossy: truncate` "
               "drops it)";
    }
    if (target == TypeKind::timestamp || target == TypeKind::timestamptz) {
        write_moment({day, {}}, value, room);
        return {};
    }
    room = iso_text(day).substr(0, 10);
    value = {Value::Kind::text, {}, room};
    return {};
}

bool in_range(const Instant& moment) {
    return moment.time >= first_moment && moment.time < end_of_moments;
}

Misfit days_since_1970(const Decimal& count, TypeKind target, Value& value, std::string& room) {
    const auto number = whole_number(count);
    constexpr std::int64_t most = 4'000'000;  // beyond the years 1 to 9999
    if (!number) return "is not a whole number of days";
    if (*number < -most || *number > most) return no_moment;
    const Instant moment{days{*number}, {}};
    if (!in_range(moment)) return no_moment;
    if (target == TypeKind::time) return "is a number of days, not a time of day";
    return write_date(moment, target, Lossy::refuse, value, room);
}

// The point in time that the text holds; in UTC if the text has no offset.
std::optional<Instant> read_moment(const Value& value) {
    if (value.kind == Value::Kind::timestamp && value.text.empty()) {
        return Instant{microseconds{value.integer}, {}};
    }
    const bool text = value.kind == Value::Kind::text || value.kind == Value::Kind::bytes ||
                      value.kind == Value::Kind::timestamp;
    if (!text) return std::nullopt;
    if (const auto date = parse_iso_date(value.text)) return Instant{*date, {}};
    const auto moment = parse_iso_moment(value.text);
    if (!moment) return std::nullopt;
    Instant instant{moment->local - moment->offset.value_or(std::chrono::minutes{0}), {}};
    if (!moment->finer.any) return instant;
    const std::size_t point = value.text.find('.');
    const std::size_t end = value.text.find_first_not_of("0123456789", point + 1);
    instant.finer = value.text.substr(point + 7, end == std::string_view::npos
                                                     ? std::string_view::npos
                                                     : end - point - 7);
    return instant;
}

Misfit cast_to_boolean(Value& value) {
    constexpr Misfit no_boolean = "is neither true nor false, nor a word for one of them";
    if (value.kind == Value::Kind::boolean) return {};
    bool yes = false;
    if (value.kind == Value::Kind::text || value.kind == Value::Kind::bytes) {
        const std::string word = lower_case(std::string(value.text.substr(0, 8)));
        yes = word == "true" || word == "t" || word == "yes" || word == "y" || word == "on" ||
              word == "1";
        const bool no = word == "false" || word == "f" || word == "no" || word == "n" ||
                        word == "off" || word == "0";
        if ((!yes && !no) || value.text.size() > 8) return no_boolean;
    } else {
        const auto number = decimal_of(value);
        const auto whole = number ? whole_number(*number) : std::nullopt;
        if (!whole || *whole < 0 || *whole > 1) return no_boolean;
        yes = *whole == 1;
    }
    value = {Value::Kind::boolean, {}, {}};
    value.boolean = yes;
    return {};
}

Misfit cast_to_integer(Lossy lossy, Value& value, std::string& room) {
    if (value.kind == Value::Kind::boolean) {
        const bool yes = value.boolean;
        value = {Value::Kind::integer, {}, {}};
        value.integer = yes ? 1 : 0;
        return {};
    }
    if (value.kind == Value::Kind::integer || value.kind == Value::Kind::natural) return {};
    auto number = decimal_of(value);
    if (!number) return "is not a number";
    if (!fit_scale(*number, 0, lossy)) {
        return "is not a whole number (`lossy: round` would round it)";
    }
    if (digits_before_point(*number) > 1000) return "is out of the type's range";
    room = number->negative && !number->digits.empty() ? "-" : "";
    room += number->digits.empty() ? "0" : number->digits;
    if (!number->digits.empty()) room.append(static_cast<std::size_t>(number->exponent), '0');
    value = {Value::Kind::number, {}, room};
    return {};
}

Misfit cast_to_text(Value& value, std::string& room) {
    ColumnType text;
    text.kind = TypeKind::text;
    room.clear();
    if (const Misfit misfit = encode::text(value, text, room); !misfit.empty()) return misfit;
    value = {Value::Kind::text, {}, room};
    return {};
}

}  // namespace

Misfit epoch(Conversion::Kind kind, TypeKind target, Lossy lossy, Value& value,
             std::string& room) {
    auto count = decimal_of(value);
    if (!count) return "is not a number, so it is no count of time";
    if (kind == Conversion::Kind::epoch_days) return days_since_1970(*count, target, value, room);
    count->exponent += places_of(kind);
    const auto instant = instant_of(std::move(*count));
    if (!instant || !in_range(*instant)) return no_moment;
    if (target == TypeKind::date) return write_date(*instant, target, lossy, value, room);
    if (target == TypeKind::time) {
        const auto end = std::chrono::hours{24};
        const bool in_day = instant->time.count() >= 0 &&
                            (instant->time < end ||
                             (instant->time == end && instant->finer.empty()));
        if (!in_day) return "is not a time since midnight within a day";
        write_time_of_day(*instant, value, room);
        return {};
    }
    write_moment(*instant, value, room);
    return {};
}

Misfit cast(CastTarget to, TypeKind target, Lossy lossy, Value& value, std::string& room) {
    switch (to) {
        case CastTarget::text: return cast_to_text(value, room);
        case CastTarget::integer: return cast_to_integer(lossy, value, room);
        case CastTarget::boolean: return cast_to_boolean(value);
        case CastTarget::date:
        case CastTarget::timestamptz: break;
    }
    const auto moment = read_moment(value);
    if (!moment) return "is not an ISO 8601 date, or date and time";
    if (!in_range(*moment)) return no_moment;
    if (to == CastTarget::date) return write_date(*moment, target, lossy, value, room);
    write_moment(*moment, value, room);
    return {};
}

}  // namespace onceward::steps
