// Trace contexts of records and requests: what was read is written again and read to the same, and
// nothing that is passed on can begin another header. The context of a span in JSON stays JSON.

#include "dedup/base/trace_context.h"

#include <nlohmann/json.hpp>

#include "dedup/trace/span.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

bool fits_a_header(std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void check_parent(std::string_view text) {
    const std::optional<TraceContext> context = parse_traceparent(text);
    if (!context) return;
    const std::string written = to_traceparent(*context);
    require(written.size() == 55 && fits_a_header(written), "a traceparent is a header's value");
    require(parse_traceparent(written) == context, "what was read is written and read to the same");
}

void check_state(std::string_view text) {
    if (!valid_tracestate(text)) return;
    require(text.size() <= 512 && fits_a_header(text), "a tracestate is a bounded header's value");
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    const std::string_view text = fuzz::text_of(data, size);
    fuzz::check_parent(text);
    fuzz::check_state(text);
    TraceSpan span{.name = std::string(text)};
    span.add("text", std::string(text));
    const std::string json = otlp_json({{"name", std::string(text)}}, "0", {&span, 1});
    fuzz::require(nlohmann::json::accept(json), "spans are JSON whatever their texts are");
    return 0;
}
