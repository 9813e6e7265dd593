#include "dedup/base/iso_time.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace onceward {
namespace {

// Reads from the front of a text; after a failure `good` stays false and the values that were read
// mean nothing.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}
    template <std::size_t digits>
    int number() {
        if (text_.size() < digits) {
            good_ = false;
            return 0;
        }
        int value = 0;
        bool all = true;
        for (std::size_t at = 0; at < digits; ++at) {
            const int digit = text_[at] - '0';
            all = all && digit >= 0 && digit <= 9;
            value = value * 10 + digit;
        }
        good_ = good_ && all;
        text_.remove_prefix(digits);
        return value;
    }
    void expect(char c) {
        if (!take(c)) good_ = false;
    }
    bool take(char c) {
        if (text_.empty() || text_[0] != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    // REQUIRES: the point before it was just taken.
    std::chrono::microseconds fraction() {
        const char* const begin = text_.data();
        std::int64_t micros = 0;
        std::size_t digits = 0;
        for (; !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; ++digits) {
            if (digits < 6) micros = micros * 10 + (text_[0] - '0');
            if (digits == 6) finer_.half_up = text_[0] >= '5';
            if (digits >= 6 && text_[0] != '0') finer_.any = true;
            text_.remove_prefix(1);
        }
        if (digits == 0) good_ = false;
        if (finer_.any) {
            // PostgreSQL reads all from the point on as a double and rounds that half to even.
            double fraction = 0;
            std::from_chars(begin - 1, begin + digits, fraction);
            finer_.as_postgresql = std::rint(fraction * 1'000'000) > static_cast<double>(micros);
        }
        for (; digits < 6; ++digits) micros *= 10;
        return std::chrono::microseconds{micros};
    }
    FinerThanMicros finer() const { return finer_; }
    void refuse() { good_ = false; }
    bool good() const { return good_; }
    bool at_end() const { return good_ && text_.empty(); }

  private:
    std::string_view text_;
    FinerThanMicros finer_;
    bool good_ = true;
};

std::chrono::days read_date(Reader& reader) {
    const std::chrono::year year{reader.number<4>()};
    reader.expect('-');
    const std::chrono::month month{static_cast<unsigned>(reader.number<2>())};
    reader.expect('-');
    const std::chrono::day day{static_cast<unsigned>(reader.number<2>())};
    if (!reader.good()) return {};
    const std::chrono::year_month_day date{year, month, day};
    if (!date.ok() || year < std::chrono::year{1}) {
        reader.refuse();
        return {};
    }
    return std::chrono::sys_days{date}.time_since_epoch();
}

std::chrono::microseconds read_time(Reader& reader) {
    const int hour = reader.number<2>();
    reader.expect(':');
    const int minute = reader.number<2>();
    int second = 0;
    std::chrono::microseconds fraction{};
    if (reader.take(':')) {
        second = reader.number<2>();
        if (reader.take('.')) fraction = reader.fraction();
    }
    // A leap second is written as :60 and becomes the minute's end.
    if (hour > 23 || minute > 59 || second > 60) reader.refuse();
    return std::chrono::hours{hour} + std::chrono::minutes{minute} + std::chrono::seconds{second} +
           fraction;
}

std::optional<std::chrono::minutes> read_offset(Reader& reader) {
    if (reader.take('Z') || reader.take('z')) return std::chrono::minutes{0};
    const bool west = reader.take('-');
    if (!west && !reader.take('+')) return std::nullopt;
    const int hours = reader.number<2>();
    const bool colon = reader.take(':');
    const int minutes = colon || !reader.at_end() ? reader.number<2>() : 0;
    if (hours > 15 || minutes > 59) reader.refuse();
    const std::chrono::minutes offset{hours * 60 + minutes};
    return west ? -offset : offset;
}

}  // namespace

std::optional<IsoMoment> parse_iso_moment(std::string_view text) {
    Reader reader(text);
    IsoMoment moment;
    moment.local = read_date(reader);
    if (!reader.take('T') && !reader.take('t')) reader.expect(' ');
    moment.local += read_time(reader);
    moment.offset = read_offset(reader);
    moment.finer = reader.finer();
    return reader.at_end() ? std::optional(moment) : std::nullopt;
}

std::optional<std::chrono::days> parse_iso_date(std::string_view text) {
    Reader reader(text);
    const std::chrono::days date = read_date(reader);
    return reader.at_end() ? std::optional(date) : std::nullopt;
}

std::optional<IsoTimeOfDay> parse_iso_time(std::string_view text) {
    // PostgreSQL's `time` can also be the end of a day.
    if (text.starts_with("24:")) {
        const std::optional<IsoTimeOfDay> begin =
            parse_iso_time("00" + std::string(text.substr(2)));
        const bool end = begin && begin->time.count() == 0 && !begin->finer.any;
        return end ? std::optional(IsoTimeOfDay{std::chrono::hours{24}, {}}) : std::nullopt;
    }
    Reader reader(text);
    const std::chrono::microseconds time = read_time(reader);
    const bool good = reader.at_end() && time <= std::chrono::hours{24};
    return good ? std::optional(IsoTimeOfDay{time, reader.finer()}) : std::nullopt;
}

std::string iso_text(std::chrono::microseconds since_1970) {
    const auto day = std::chrono::floor<std::chrono::days>(since_1970);
    const std::chrono::year_month_day date{std::chrono::sys_days{day}};
    const std::chrono::hh_mm_ss time{since_1970 - day};
    char text[64];
    std::snprintf(
        text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
        static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
    return text;
}

}  // namespace onceward
