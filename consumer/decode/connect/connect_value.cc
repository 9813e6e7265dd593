#include "consumer/decode/connect/connect_value.h"

#include <nlohmann/json.hpp>

#include "consumer/decode/avro/logical_types.h"
#include "dedup/base/json_reader.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr ConnectFault not_a_decimal = "is not a decimal in base64";
constexpr ConnectFault decimal_too_long = "is a decimal that is too long";
constexpr ConnectFault outside_the_years = "is a date or time outside the years 1 to 9999";
constexpr ConnectFault not_within_a_day = "is a time of day that is not within a day";

ConnectFault append_time_of_day(std::int64_t count, std::int64_t units, std::string& out) {
    const std::optional<avro::FineMoment> time = avro::fine_moment(count, units);
    if (!time) return not_within_a_day;
    // PostgreSQL's `time` has the end of a day too.
    constexpr std::int64_t day = 86'400'000'000;
    if (time->micros == day && time->nanos == 0) {
        out += "24:00:00";
        return nullptr;
    }
    if (!avro::append_time(time->micros, out)) return not_within_a_day;
    if (time->nanos == 0) return nullptr;
    const std::string nanos = std::to_string(1'000 + time->nanos);
    out.append(nanos, 1, 3);
    return nullptr;
}

// A visitor that keeps nothing.
struct ConnectNothing {
    using Place = int;
    std::string fault{};
    bool literal(Place, std::string_view) { return true; }
    void text(Place, std::string_view, bool) {}
    void open(Place, char) {}
    bool member(Place, std::string_view, Place&) { return true; }
    Place element(Place, std::uint64_t) { return 0; }
    template <class Raw>
    bool close(Place, char, const Raw&) {
        return true;
    }
};

}  // namespace

ConnectFault append_connect_decimal(std::string_view base64, std::int64_t scale, std::string& out) {
    std::string bytes;
    if (!append_base64(base64, bytes) || bytes.empty()) return not_a_decimal;
    constexpr auto longest = static_cast<std::int64_t>(avro::longest_decimal);
    if (scale > longest || scale < -longest) return decimal_too_long;
    const std::size_t places = scale > 0 ? static_cast<std::size_t>(scale) : 0;
    const std::size_t begin = out.size();
    if (!avro::append_decimal(bytes, places, out)) return decimal_too_long;
    if (scale < 0 && out.compare(begin, std::string::npos, "0") != 0) {
        out.append(static_cast<std::size_t>(-scale), '0');
    }
    return nullptr;
}

ConnectFault append_variable_decimal(std::string_view json, std::string& out) {
    const auto number = nlohmann::json::parse(json, nullptr, false);
    if (!number.is_object()) return not_a_decimal;
    const auto scale = number.find("scale");
    const auto value = number.find("value");
    if (scale == number.end() || !scale->is_number_integer() || value == number.end() ||
        !value->is_string()) {
        return not_a_decimal;
    }
    return append_connect_decimal(value->get_ref<const std::string&>(), scale->get<std::int64_t>(),
                                  out);
}

ConnectFault append_connect_time(ConnectType type, std::int64_t count, std::string& out) {
    switch (type) {
        case ConnectType::date: return avro::append_date(count, out) ? nullptr : outside_the_years;
        case ConnectType::time_millis:
        case ConnectType::time_micros:
        case ConnectType::time_nanos: return append_time_of_day(count, units_a_second(type), out);
        default: break;
    }
    const std::optional<avro::FineMoment> moment = avro::fine_moment(count, units_a_second(type));
    const std::string_view zone = type == ConnectType::moment_millis ? "Z" : "";
    if (!moment || !avro::append_moment(moment->micros, moment->nanos, zone, out))
        return outside_the_years;
    return nullptr;
}

bool is_json_text(std::string_view text) {
    thread_local JsonBuffer buffer;
    ConnectNothing nothing;
    return !JsonReader<ConnectNothing>(buffer, nothing).run(text, 0);
}

}  // namespace onceward
