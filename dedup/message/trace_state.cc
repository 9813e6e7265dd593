#include "dedup/message/trace_state.h"

#include "dedup/base/trace_origin.h"

namespace onceward {

std::string state_to_continue(const Message& message) {
    const RecordTrace trace = trace_to_continue(message);
    if (message.trace == nullptr) return std::string(trace.state);
    const auto came = last_header(message.record, traceparent_header);
    const auto parent = came ? parse_traceparent(*came) : std::nullopt;
    return with_origin(trace.state, parent ? parent->span : message.trace->span);
}

}  // namespace onceward
