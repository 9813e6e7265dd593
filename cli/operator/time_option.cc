#include "cli/operator/time_option.h"

#include "cli/configuration/units.h"
#include "cli/terminal/exit_code.h"
#include "dedup/base/types.h"

namespace onceward {

std::optional<std::chrono::milliseconds> time_of(const std::string& option,
                                                 const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto now = since_1970<std::chrono::milliseconds>();
    if (const auto ago = parse_duration(text)) return now - *ago;
    const auto time = parse_timestamp(text);
    if (!time) {
        throw UsageError(option +
                         " takes a time such as 2026-01-31T12:00:00Z, or how long ago, such as 1h "
                         "or 7d, not `" +
                         text + "`");
    }
    return time;
}

}  // namespace onceward
