#pragma once
// Structured logging: an event's name, which never changes with the data, and named fields.
// Thread-safe. Writes text to standard error at level info until configure_log() is called: once,
// before other threads start. Never pass a payload, a raw key or a secret: log a key's digest.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace onceward {

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };

struct LogOptions {
    LogLevel level = LogLevel::info;
    // text: one line for people. json: one object a line: time, level, event, then the fields.
    enum class Format : std::uint8_t { text, json } format = Format::text;
};

struct LogField {
    std::string_view name;  // such as topic, partition, offset, digest, sqlstate, error
    std::variant<std::string, std::int64_t, double, bool> value;

    LogField(std::string_view field, std::string text) : name(field), value(std::move(text)) {}
    LogField(std::string_view field, std::string_view text) : LogField(field, std::string(text)) {}
    LogField(std::string_view field, const char* text) : LogField(field, std::string(text)) {}
    LogField(std::string_view field, bool flag) : name(field), value(flag) {}
    LogField(std::string_view field, double number) : name(field), value(number) {}
    template <std::integral Number>
    LogField(std::string_view field, Number number)
        : name(field), value(static_cast<std::int64_t>(number)) {}
};
using LogFields = std::initializer_list<LogField>;

void configure_log(const LogOptions& options);
void log(LogLevel level, std::string_view event, LogFields fields = {});

inline void log_debug(std::string_view event, LogFields fields = {}) {
    log(LogLevel::debug, event, fields);
}
inline void log_info(std::string_view event, LogFields fields = {}) {
    log(LogLevel::info, event, fields);
}
inline void log_warning(std::string_view event, LogFields fields = {}) {
    log(LogLevel::warning, event, fields);
}
inline void log_error(std::string_view event, LogFields fields = {}) {
    log(LogLevel::error, event, fields);
}

}  // namespace onceward
