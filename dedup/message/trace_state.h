#pragma once
// What a record or a call that a message causes has in its `tracestate`. Pure.

#include <string>

#include "dedup/message/message.h"

namespace onceward {

// That of trace_to_continue(), with the trace's origin if the message has a span; '' for none.
std::string state_to_continue(const Message& message);

}  // namespace onceward
