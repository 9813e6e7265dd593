#include "cli/operator/time_option.h"

#include "cli/configuration/units.h"
#include "dedup/base/iso_time.h"
#include "dedup/base/types.h"

namespace onceward {

std::optional<std::chrono::milliseconds> parse_moment(const std::string& text,
                                                      std::chrono::milliseconds now) {
    if (const auto ago = parse_duration(text)) return now - *ago;
    if (const auto date = parse_iso_date(text)) return std::chrono::milliseconds(*date);
    return parse_timestamp(text);
}

std::optional<std::chrono::milliseconds> moment_of(const std::string& text) {
    return parse_moment(text, since_1970<std::chrono::milliseconds>());
}

std::string not_taken(const std::string& what, const std::string& text) {
    const std::optional<IsoMoment> time = parse_iso_moment(text);
    const bool zone_is_missing = time && !time->offset;
    return "takes " + what + ", not `" + text + "`" +
           (zone_is_missing ? ": write its zone, `" + text + "Z` for UTC" : "");
}

CLI::Validator moment_check() {
    return CLI::Validator(
        [](const std::string& text) {
            return parse_moment(text, std::chrono::milliseconds(0))
                       ? std::string()
                       : not_taken(moment_forms, text);
        },
        "");
}

}  // namespace onceward
