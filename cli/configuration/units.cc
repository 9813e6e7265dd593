#include "cli/configuration/units.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <regex>
#include <span>
#include <utility>

#include "dedup/base/text.h"
#include "dedup/base/iso_time.h"

namespace onceward {
namespace {

struct Unit {
    const char* name;
    std::int64_t factor;
};
constexpr Unit duration_units[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
constexpr Unit size_units[] = {{"GiB", std::int64_t{1} << 30},
                               {"GB", 1'000'000'000},
                               {"MiB", std::int64_t{1} << 20},
                               {"MB", 1'000'000},
                               {"KiB", std::int64_t{1} << 10},
                               {"KB", 1000},
                               {"B", 1}};

// The digits at the beginning, and what follows them.
std::pair<std::optional<std::int64_t>, std::string> split_number(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string rest(end, text.data() + text.size());
    if (error != std::errc{} || number < 0 || text.starts_with('-')) return {std::nullopt, rest};
    return {number, rest};
}

std::optional<std::int64_t> parse_with(const std::string& text, std::span<const Unit> units) {
    const auto [number, rest] = split_number(text);
    if (!number) return std::nullopt;
    for (const Unit& unit : units) {
        if (rest != unit.name) continue;
        if (*number > std::numeric_limits<std::int64_t>::max() / unit.factor) return std::nullopt;
        return *number * unit.factor;
    }
    return std::nullopt;
}

std::string text_with(std::int64_t amount, std::span<const Unit> units) {
    for (const Unit& unit : units) {
        if (amount != 0 && amount % unit.factor == 0) {
            return std::to_string(amount / unit.factor) + unit.name;
        }
    }
    return std::to_string(amount) + units.back().name;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(const std::string& text) {
    const std::optional<std::int64_t> amount = parse_with(text, duration_units);
    if (!amount) return std::nullopt;
    return std::chrono::milliseconds(*amount);
}

std::optional<std::int64_t> parse_size(const std::string& text) {
    return parse_with(text, size_units);
}

std::optional<DailyHours> parse_hours(const std::string& text) {
    static const std::regex form(R"((\d\d):(\d\d)-(\d\d):(\d\d))");
    std::smatch part;
    if (!std::regex_match(text, part, form)) return std::nullopt;
    const auto at = [&](int index) {
        return std::chrono::hours(std::stoi(part[index])) +
               std::chrono::minutes(std::stoi(part[index + 1]));
    };
    const DailyHours hours{at(1), at(3)};
    const bool minutes = part[2] < "60" && part[4] < "60";
    const std::chrono::hours day(24);
    if (!minutes || hours.begin >= day || hours.end > day || hours.begin == hours.end) {
        return std::nullopt;
    }
    return hours;
}

std::optional<std::chrono::milliseconds> parse_timestamp(const std::string& text) {
    const std::optional<IsoMoment> moment = parse_iso_moment(text);
    if (!moment || !moment->offset) return std::nullopt;
    return std::chrono::floor<std::chrono::milliseconds>(moment->rounded() - *moment->offset);
}

std::string duration_text(std::chrono::milliseconds duration) {
    return text_with(duration.count(), duration_units);
}

std::string size_text(std::int64_t bytes) { return text_with(bytes, size_units); }

std::string hours_text(const DailyHours& hours) {
    const auto two_digits = [](std::int64_t number) {
        return (number < 10 ? "0" : "") + std::to_string(number);
    };
    const auto text = [&](std::chrono::minutes time) {
        return two_digits(time.count() / 60) + ":" + two_digits(time.count() % 60);
    };
    return text(hours.begin) + "-" + text(hours.end);
}

std::string duration_advice(const std::string& text) {
    const auto [number, rest] = split_number(text);
    if (number && rest.empty()) {
        return "Write the unit: `" + text + "s`, `" + text + "ms`, `" + text + "m` or `" + text +
               "h`.";
    }
    static const std::pair<const char*, const char*> meant[] = {
        {"sec", "s"},     {"secs", "s"},   {"second", "s"},  {"seconds", "s"}, {"min", "m"},
        {"mins", "m"},    {"minute", "m"}, {"minutes", "m"}, {"hour", "h"},    {"hours", "h"},
        {"hr", "h"},      {"hrs", "h"},    {"day", "d"},     {"days", "d"},    {"msec", "ms"},
        {"millis", "ms"}, {"S", "s"},      {"H", "h"},       {"D", "d"},       {"MS", "ms"},
        {"Ms", "ms"}};
    if (number) {
        const std::string unit = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
        for (const auto& [wrong, right] : meant) {
            if (unit == wrong) return "Write `" + std::to_string(*number) + right + "`.";
        }
        const bool weeks = unit == "w" || unit == "week" || unit == "weeks";
        if (weeks && *number < 1000) return "Write `" + std::to_string(7 * *number) + "d`.";
    }
    return "Write a whole number and a unit (ms, s, m, h, d), such as `500ms`, `5s` or `24h`.";
}

std::string size_advice(const std::string& text) {
    const auto [number, rest] = split_number(text);
    if (number && rest.empty()) {
        return "Write the unit: `" + text + "B`, or as in `8MiB`, `100MB`.";
    }
    if (number) {
        for (const char letter : {'K', 'M', 'G'}) {
            if (std::toupper(static_cast<unsigned char>(rest[0])) != letter) continue;
            const std::string amount = std::to_string(*number) + letter;
            return "Write `" + amount + "iB` (powers of 1024) or `" + amount +
                   "B` (powers of 1000).";
        }
    }
    return "Write a whole number and a unit (B, KB, KiB, MB, MiB, GB, GiB), such as `8MiB`.";
}

std::optional<ListenAddress> parse_listen_address(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) return std::nullopt;
    const auto port = number_of<std::uint16_t>(std::string_view(text).substr(colon + 1));
    ListenAddress address{text.substr(0, colon), port.value_or(0)};
    const bool bracketed = address.host.front() == '[' && address.host.back() == ']';
    if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
    // An IPv6 address without brackets: its last part would pass for the port.
    if (!bracketed && address.host.find(':') != std::string::npos) return std::nullopt;
    if (!port || address.host.empty()) return std::nullopt;
    return address;
}

std::string to_text(const ListenAddress& address) {
    const bool version_6 = address.host.find(':') != std::string::npos;
    return (version_6 ? "[" + address.host + "]" : address.host) + ":" +
           std::to_string(address.port);
}

bool is_loopback(const ListenAddress& address) {
    const bool numeric = address.host.find_first_not_of("0123456789.") == std::string::npos;
    return address.host == "localhost" || address.host == "::1" ||
           (numeric && address.host.starts_with("127."));
}

}  // namespace onceward
