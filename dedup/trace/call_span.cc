#include "dedup/trace/call_span.h"

namespace onceward {

// The attributes are constructed in place: if they were moved there, as add() does, g++ 12 would
// warn of values that are not initialised, although there are none.
TraceSpan begin_call_span(const std::string& method, std::string_view host,
                          const TraceContext& parent) {
    TraceSpan span = begin_span(method, SpanKind::client, parent);
    span.attributes.emplace_back("http.request.method", method);
    span.attributes.emplace_back("server.address", std::string(host));
    return span;
}

void end_call_span(TraceSpan& span, const HttpAnswer& answer) {
    const bool answered = answer.status != 0;
    if (answered) {
        span.attributes.emplace_back("http.response.status_code", std::int64_t{answer.status});
    }
    if (answered && answer.status < 400) return;
    span.failed = true;
    const std::string type = answered ? std::to_string(answer.status) : answer.failure;
    span.attributes.emplace_back("error.type", type);
}

}  // namespace onceward
