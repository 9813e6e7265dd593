#include "dedup/base/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "dedup/base/text.h"

namespace onceward {
namespace {

// Text is quoted as JSON in both formats, so that it is always one line. Characters that JSON does
// not escape but a terminal obeys are escaped as well.
std::string json_text(std::string_view text) {
    return safe_text(
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
        LineBreaks::escaped);
}

std::string value_text(const LogField& field) {
    return std::visit(
        [](const auto& value) -> std::string {
            using Type = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Type, std::string>) {
                return json_text(value);
            } else {
                return nlohmann::json(value).dump();
            }
        },
        field.value);
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    constexpr std::array levels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                spdlog::level::err, spdlog::level::off};
    return levels.at(static_cast<std::size_t>(level));
}

struct Log {
    std::shared_ptr<spdlog::logger> logger = std::make_shared<spdlog::logger>(
        "onceward", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    LogOptions options;

    Log() { configure({}); }
    void configure(const LogOptions& wanted) {
        options = wanted;
        const char* pattern = wanted.format == LogOptions::Format::json
                                  ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                  : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
        logger->set_formatter(
            std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
        logger->set_level(spdlog_level(wanted.level));
    }
};

Log& the_log() {
    static Log log;
    return log;
}

}  // namespace

void configure_log(const LogOptions& options) { the_log().configure(options); }

void log(LogLevel level, std::string_view event, LogFields fields) {
    Log& log = the_log();
    if (!log.logger->should_log(spdlog_level(level))) return;
    const bool json = log.options.format == LogOptions::Format::json;
    std::string line = json ? "\"event\":" + json_text(event) : std::string(event);
    for (const LogField& field : fields) {
        line += json ? "," + json_text(field.name) + ":" : " " + std::string(field.name) + "=";
        line += value_text(field);
    }
    log.logger->log(spdlog_level(level), spdlog::string_view_t(line));
}

}  // namespace onceward
