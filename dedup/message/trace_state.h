#pragma once
// The `tracestate` of a record or a call that a message causes. Pure.

#include <string>

#include "dedup/message/message.h"

namespace onceward {

// The state of trace_to_continue(), with the trace's origin if the message has a span; '' if none.
std::string state_to_continue(const Message& message);

}  // namespace onceward
