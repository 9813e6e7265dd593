#pragma once
// The W3C's Trace Context (level 1, https://www.w3.org/TR/trace-context/): the ids that a record or
// a request carries, read and written. Plain values; pure but for the random ids, which are
// thread-safe.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

inline constexpr std::string_view traceparent_header = "traceparent";
inline constexpr std::string_view tracestate_header = "tracestate";

struct TraceId {
    std::array<std::uint8_t, 16> bytes{};
    friend bool operator==(const TraceId&, const TraceId&) = default;
};
struct SpanId {
    std::array<std::uint8_t, 8> bytes{};
    friend bool operator==(const SpanId&, const SpanId&) = default;
};

// A span's place in its trace. Neither id is all zeros.
struct TraceContext {
    TraceId trace;
    SpanId span;
    bool sampled = false;  // whether the spans below it are to be recorded
    friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// Returns nullopt if the text is not a traceparent. A later version is read as the standard
// requires: its first four parts count, and the rest is ignored.
std::optional<TraceContext> parse_traceparent(std::string_view text);
// As a header's value, of version 00.
std::string to_traceparent(const TraceContext& context);

// Whether it may be passed on: up to 512 printable characters and 32 members, each with a `=`.
bool valid_tracestate(std::string_view text);

// Random, and never all zeros.
TraceId random_trace_id();
SpanId random_span_id();
// Another span of the same trace, below `parent`.
inline TraceContext child_of(const TraceContext& parent) {
    return {parent.trace, random_span_id(), parent.sampled};
}

}  // namespace onceward
