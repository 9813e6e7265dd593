#pragma once
// The span with which a trace came to its first hop here. It travels in tracestate, as the member
// `onceward`, and later spans link to it: a process that is killed loses the spans that it has not
// sent, and without the link the receiver could not connect the spans after them to anything that
// it has. Plain values; pure; throws only std::bad_alloc.

#include <optional>
#include <string>
#include <string_view>

#include "dedup/base/trace_context.h"

namespace onceward {

// nullopt if there is none.
std::optional<SpanId> origin_of(std::string_view tracestate);
// The tracestate with this origin, unless it already has one. If there is no room for it, the last
// members are left out, as the standard requires. REQUIRES: it is valid, or empty.
std::string with_origin(std::string_view tracestate, const SpanId& origin);

}  // namespace onceward
