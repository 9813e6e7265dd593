#include "dedup/base/trace_origin.h"

#include <algorithm>

#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::string_view origin_member = "onceward=";

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

std::optional<SpanId> origin_of(std::string_view tracestate) {
    while (!tracestate.empty()) {
        const std::size_t comma = std::min(tracestate.find(','), tracestate.size());
        const std::string_view member = trimmed(tracestate.substr(0, comma));
        tracestate.remove_prefix(std::min(comma + 1, tracestate.size()));
        if (!member.starts_with(origin_member)) continue;
        // Read as a traceparent of an arbitrary trace, whose reader checks the span's id.
        const auto read = parse_traceparent("00-00000000000000000000000000000001-" +
                                            std::string(member.substr(origin_member.size())) +
                                            "-01");
        return read ? std::optional(read->span) : std::nullopt;
    }
    return std::nullopt;
}

std::string with_origin(std::string_view tracestate, const SpanId& origin) {
    if (origin_of(tracestate)) return std::string(tracestate);
    std::string all(origin_member);
    all += hex({reinterpret_cast<const char*>(origin.bytes.data()), origin.bytes.size()});
    if (tracestate.empty()) return all;
    all.append(",").append(tracestate);
    while (!valid_tracestate(all)) all.erase(all.rfind(','));
    return all;
}

}  // namespace onceward
