#pragma once
// A span as OpenTelemetry has it: one operation of a trace, with its times, attributes, events and
// links. Plain values. Names of attributes are literals: a span keeps views of them.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dedup/base/trace_context.h"

namespace onceward {

using SpanTime = std::chrono::system_clock::time_point;

// The numbers are OTLP's.
enum class SpanKind : std::uint8_t {
    internal = 1,
    server = 2,
    client = 3,
    producer = 4,
    consumer = 5,
};

using AttributeValue = std::variant<std::string, std::int64_t, bool>;
using Attributes = std::vector<std::pair<std::string_view, AttributeValue>>;

struct SpanEvent {
    std::string_view name;  // a literal
    SpanTime at;
    Attributes attributes{};
};

struct TraceSpan {
    std::string name;
    SpanKind kind = SpanKind::internal;
    TraceContext context{};
    std::optional<SpanId> parent{};
    std::string tracestate{};
    SpanTime start = std::chrono::system_clock::now();
    SpanTime end{};
    Attributes attributes{};
    std::vector<SpanEvent> events{};
    std::vector<TraceContext> links{};
    std::int64_t links_dropped = 0;
    std::int64_t events_dropped = 0;
    bool failed = false;  // the status is an error

    void add(std::string_view attribute, AttributeValue value) {
        attributes.emplace_back(attribute, std::move(value));
    }
    // `type`: the value of `error.type`, which is one of a few.
    void fail(std::string type) {
        failed = true;
        add("error.type", std::move(type));
    }
};

// Who sends the spans: `service.name` and the like.
using Resource = std::vector<std::pair<std::string, std::string>>;

// The spans as the body of an OTLP/HTTP request in JSON (ExportTraceServiceRequest of OTLP 1).
// `version`: of this program. Pure.
std::string otlp_json(const Resource& resource, std::string_view version,
                      std::span<const TraceSpan> spans);

}  // namespace onceward
