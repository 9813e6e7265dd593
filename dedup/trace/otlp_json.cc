// Written by hand: a tree of nlohmann::json costs an allocation for each name and value, and the
// exporter shares the machine with the workers. The tests parse it.

#include "dedup/base/text.h"
#include "dedup/trace/span.h"

namespace onceward {
namespace {

constexpr int status_error = 2;

// The items with commas between them.
template <class Items, class Write>
void append_list(std::string_view name, const Items& items, std::string& out, Write write) {
    out += name;
    out += '[';
    bool first = true;
    for (const auto& item : items) {
        if (!first) out += ',';
        first = false;
        write(item);
    }
    out += ']';
}

void append_text(std::string_view text, std::string& out) {
    append_json_string(safe_text(text, LineBreaks::kept), out);
}

template <class Bytes>
void append_id(std::string_view name, const Bytes& bytes, std::string& out) {
    out += name;
    out += '"';
    out += hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    out += '"';
}

// 64-bit integers are texts in the JSON of Protobuf.
void append_number(std::string_view name, std::int64_t number, std::string& out) {
    out += name;
    out += '"';
    out += std::to_string(number);
    out += '"';
}

void append_time(std::string_view name, SpanTime at, std::string& out) {
    const auto since_1970 =
        std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch());
    append_number(name, since_1970.count(), out);
}

void append_attribute(std::string_view name, const AttributeValue& value, std::string& out) {
    out += R"({"key":)";
    append_text(name, out);
    if (const auto* text = std::get_if<std::string>(&value)) {
        out += R"(,"value":{"stringValue":)";
        append_text(*text, out);
    } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        append_number(R"(,"value":{"intValue":)", *number, out);
    } else {
        out += R"(,"value":{"boolValue":)";
        out += std::get<bool>(value) ? "true" : "false";
    }
    out += "}}";
}

void append_attributes(const Attributes& attributes, std::string& out) {
    append_list(R"(,"attributes":)", attributes, out, [&](const auto& attribute) {
        append_attribute(attribute.first, attribute.second, out);
    });
}

void append_event(const SpanEvent& event, std::string& out) {
    append_time(R"({"timeUnixNano":)", event.at, out);
    out += R"(,"name":)";
    append_text(event.name, out);
    append_attributes(event.attributes, out);
    out += '}';
}

void append_link(const TraceContext& link, std::string& out) {
    append_id(R"({"traceId":)", link.trace.bytes, out);
    append_id(R"(,"spanId":)", link.span.bytes, out);
    out += '}';
}

void append_span(const TraceSpan& span, std::string& out) {
    append_id(R"({"traceId":)", span.context.trace.bytes, out);
    append_id(R"(,"spanId":)", span.context.span.bytes, out);
    if (span.parent) append_id(R"(,"parentSpanId":)", span.parent->bytes, out);
    if (!span.tracestate.empty()) {
        out += R"(,"traceState":)";
        append_text(span.tracestate, out);
    }
    out += R"(,"flags":)";
    out += span.context.sampled ? '1' : '0';
    out += R"(,"name":)";
    append_text(span.name, out);
    out += R"(,"kind":)";
    out += std::to_string(static_cast<int>(span.kind));
    append_time(R"(,"startTimeUnixNano":)", span.start, out);
    append_time(R"(,"endTimeUnixNano":)", span.end, out);
    append_attributes(span.attributes, out);
    if (!span.events.empty()) {
        append_list(R"(,"events":)", span.events, out,
                    [&](const SpanEvent& event) { append_event(event, out); });
    }
    if (span.events_dropped > 0) {
        out += R"(,"droppedEventsCount":)" + std::to_string(span.events_dropped);
    }
    if (!span.links.empty()) {
        append_list(R"(,"links":)", span.links, out,
                    [&](const TraceContext& link) { append_link(link, out); });
    }
    if (span.links_dropped > 0) {
        out += R"(,"droppedLinksCount":)" + std::to_string(span.links_dropped);
    }
    if (span.failed) out += R"(,"status":{"code":)" + std::to_string(status_error) + "}";
    out += '}';
}

}  // namespace

std::string otlp_json(const Resource& resource, std::string_view version,
                      std::span<const TraceSpan> spans) {
    std::string out;
    append_list(R"({"resourceSpans":[{"resource":{"attributes":)", resource, out,
                [&](const auto& attribute) {
                    append_attribute(attribute.first, attribute.second, out);
                });
    out += R"(},"scopeSpans":[{"scope":{"name":"onceward","version":)";
    append_text(version, out);
    append_list(R"(},"spans":)", spans, out,
                [&](const TraceSpan& span) { append_span(span, out); });
    out += "}]}]}";
    return out;
}

}  // namespace onceward
