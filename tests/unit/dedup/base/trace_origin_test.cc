#include "dedup/base/trace_origin.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

const SpanId origin =
    parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").value().span;

TEST(TraceOrigin, TheOriginTravelsInTheTracestate) {
    const std::string member = "onceward=00f067aa0ba902b7";
    EXPECT_EQ(with_origin("", origin), member);
    EXPECT_EQ(with_origin("a=1, b=2", origin), member + ",a=1, b=2");
    for (const std::string& state : {member, "a=1," + member, "a=1, " + member + " ,b=2"}) {
        EXPECT_EQ(origin_of(state), origin) << state;
        EXPECT_EQ(with_origin(state, random_span_id()), state) << "the first one stays";
    }
    for (const char* none : {"", "a=1", "onceward=", "onceward=0000000000000000",
                             "onceward=00f067aa0ba902b", "onceward=00f067aa0ba902b7f",
                             "onceward=00F067AA0BA902B7", "xonceward=00f067aa0ba902b7"}) {
        EXPECT_EQ(origin_of(none), std::nullopt) << none;
    }
}

TEST(TraceOrigin, ForTheOriginTheLastMembersMakeRoom) {
    std::string many = "a=1";
    for (int i = 1; i < 32; ++i) many += ",b" + std::to_string(i) + "=1";
    const std::string cut = with_origin(many, origin);
    EXPECT_TRUE(valid_tracestate(cut)) << cut;
    EXPECT_EQ(origin_of(cut), origin);
    EXPECT_TRUE(cut.ends_with(",b30=1")) << cut;
    const std::string one = with_origin("a=" + std::string(500, 'x'), origin);
    EXPECT_EQ(one, "onceward=00f067aa0ba902b7");
}

}  // namespace
}  // namespace onceward
