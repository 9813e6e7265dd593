#include "dedup/base/trace_context.h"

#include <gtest/gtest.h>

#include <set>

namespace onceward {
namespace {

const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, ATraceparentIsReadAndWrittenAsItWas) {
    for (const std::string& text :
         {good, std::string("00-00000000000000000000000000000001-0000000000000001-00"),
          std::string("00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01")}) {
        const auto context = parse_traceparent(text);
        ASSERT_TRUE(context) << text;
        EXPECT_EQ(to_traceparent(*context), text);
    }
}

TEST(TraceContext, OnlyTheLowestBitOfTheFlagsSaysSampled) {
    for (const auto& [flags, sampled] :
         std::vector<std::pair<std::string, bool>>{{"00", false}, {"01", true}, {"02", false},
                                                   {"03", true},  {"fe", false}, {"ff", true}}) {
        const auto context = parse_traceparent(good.substr(0, 53) + flags);
        ASSERT_TRUE(context) << flags;
        EXPECT_EQ(context->sampled, sampled) << flags;
    }
}

TEST(TraceContext, ALaterVersionIsReadByItsFirstParts) {
    const std::string later = "cc" + good.substr(2);
    EXPECT_TRUE(parse_traceparent(later));
    EXPECT_TRUE(parse_traceparent(later + "-what-the-future-will-be-like"));
    EXPECT_FALSE(parse_traceparent(later + ".what"));
    const auto context = parse_traceparent(later + "-\r\nX-Injected: 1");
    ASSERT_TRUE(context);
    EXPECT_EQ(to_traceparent(*context), good) << "nothing of what follows is passed on";
}

// Each character replaced by others, each length, and what people get wrong.
TEST(TraceContext, WhatIsNoTraceparentIsRefused) {
    std::vector<std::string> bad{
        "", "-", "00", "ff" + good.substr(2), good + "-", good + "-extra", " " + good, good + " ",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e47367-00f067aa0ba902b7-1",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", std::string(55, '\0'),
        std::string(55, '-'), std::string(1 << 16, 'a')};
    for (std::size_t length = 0; length < good.size(); ++length) {
        bad.push_back(good.substr(0, length));
    }
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const char other : {'g', 'A', '/', ':', '\0', '\xff', ' '}) {
            std::string changed = good;
            changed[at] = other;
            bad.push_back(changed);
        }
    }
    for (const std::string& text : bad) EXPECT_FALSE(parse_traceparent(text)) << text;
}

TEST(TraceContext, ATracestateIsBounded) {
    std::string many = "a=1";
    for (int i = 1; i < 32; ++i) many += ",b" + std::to_string(i) + "=1";
    for (const std::string& text : {std::string("a=1"), std::string("rojo=00f067, congo=t61"),
                                    std::string("a=1,,b=2"), many}) {
        EXPECT_TRUE(valid_tracestate(text)) << text;
    }
    for (const std::string& text :
         {std::string(), std::string("a"), many + ",c=1", "a=" + std::string(511, 'x'),
          std::string("a=1\r\nX: 1"), std::string("a=\x80"), std::string("a=1,b")}) {
        EXPECT_FALSE(valid_tracestate(text)) << text;
    }
}

TEST(TraceContext, IdsAreRandomAndNeverZero) {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        const TraceContext context{random_trace_id(), random_span_id(), false};
        const std::string text = to_traceparent(context);
        EXPECT_TRUE(parse_traceparent(text)) << text;
        EXPECT_TRUE(seen.insert(text.substr(3, 32)).second);
        EXPECT_TRUE(seen.insert(text.substr(36, 16)).second);
    }
    const TraceContext parent = parse_traceparent(good).value();
    const TraceContext child = child_of(parent);
    EXPECT_EQ(child.trace, parent.trace);
    EXPECT_NE(child.span, parent.span);
    EXPECT_TRUE(child.sampled);
}

}  // namespace
}  // namespace onceward
