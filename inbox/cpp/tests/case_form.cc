#include "case_form.h"

#include <cstdio>
#include <fstream>

namespace onceward::pqxx {

const Json& cases() {
    static const Json file = Json::parse(std::ifstream(INBOX_CASES));
    return file;
}

namespace {

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t at = 0; at < hex.size(); at += 2) {
        bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
    }
    return bytes;
}

}  // namespace

std::string key_of(const Json& key) {
    if (key.is_string()) return key;
    if (key.contains("hex")) return from_hex(key.at("hex"));
    std::string text;
    for (int i = 0; i < key.at("times"); ++i) text += key.at("repeat");
    return text;
}

std::optional<Time> time_of(const Json& text) {
    if (text.is_null()) return std::nullopt;
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int fraction = 0;
    std::sscanf(std::string(text).c_str(), "%d-%u-%uT%d:%d:%d.%6dZ", &year, &month, &day, &hour,
                &minute, &second, &fraction);
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                           std::chrono::day(day)};
    return Time(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
           std::chrono::minutes(minute) + std::chrono::seconds(second) +
           std::chrono::microseconds(fraction);
}

}  // namespace onceward::pqxx
