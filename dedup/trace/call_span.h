#pragma once
// The span of an HTTP call to another system, by OpenTelemetry's conventions for HTTP clients. The
// address's path and query are not in it: they may hold a secret. Pure.

#include <string>
#include <string_view>

#include "dedup/sink/effects.h"
#include "dedup/trace/tracer.h"

namespace onceward {

TraceSpan begin_call_span(const std::string& method, std::string_view host,
                          const TraceContext& parent);
// Adds how it ended.
void end_call_span(TraceSpan& span, const HttpAnswer& answer);

}  // namespace onceward
