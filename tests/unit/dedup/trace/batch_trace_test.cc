#include "dedup/trace/batch_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace onceward {
namespace {

using namespace std::chrono_literals;

const std::string sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

// A batch of one chunk, each message with this traceparent; '' for none.
Batch batch_of(const std::vector<std::string>& traceparents) {
    Batch batch;
    Chunk& chunk = batch.chunks.emplace_back();
    std::int64_t offset = 0;
    for (const std::string& text : traceparents) {
        Message& message = chunk.messages.emplace_back();
        message.record.offset = Offset(offset++);
        if (text.empty()) continue;
        message.record.headers.push_back({"other", "x"});
        message.record.headers.push_back({traceparent_header, keep(*chunk.arena, text)});
    }
    return batch;
}

std::string text_of(const TraceSpan& span, std::string_view name) {
    for (const auto& [key, value] : span.attributes) {
        if (key == name) return std::get<std::string>(value);
    }
    return "";
}

class BatchTraces : public testing::Test {
  protected:
    std::vector<TraceSpan> taken(Tracer& tracer) { return tracer.take(100'000, 0ms, {}); }
    Tracer none_of_its_own_{{.ratio = 0}};
};

TEST_F(BatchTraces, OnlyMessagesWhoseTraceIsRecordedHaveASpan) {
    BatchTrace trace(&none_of_its_own_, "group", "orders");
    Batch batch = batch_of({sampled, unsampled, "", "00-nonsense", sampled});
    trace.begin(batch);
    std::vector<Message>& messages = batch.chunks[0].messages;
    std::vector<bool> traced;
    for (const Message& message : messages) traced.push_back(message.trace != nullptr);
    EXPECT_THAT(traced, testing::ElementsAre(true, false, false, false, true));
    trace.reached(Step::before_begin);
    trace.reached(Step::after_fence);
    trace.reached(Step::before_commit);
    trace.reached(Step::after_commit);
    for (const Message& message : messages) trace.ended(message, "applied");
    EXPECT_FALSE(trace.has_messages());
    trace.end();
    const std::vector<TraceSpan> spans = taken(none_of_its_own_);
    ASSERT_EQ(spans.size(), 4U);
    const TraceContext parent = parse_traceparent(sampled).value();
    EXPECT_EQ(spans[0].name, "COMMIT");
    const TraceSpan& whole = spans[3];
    EXPECT_EQ(spans[0].parent, whole.context.span);
    EXPECT_EQ(whole.name, "process orders");
    EXPECT_FALSE(whole.parent);
    EXPECT_NE(whole.context.trace, parent.trace) << "a batch is of none of its messages' traces";
    EXPECT_THAT(whole.links, testing::ElementsAre(parent, parent));
    EXPECT_EQ(whole.events.size(), 2U);
    for (const TraceSpan* span : {&spans[1], &spans[2]}) {
        EXPECT_EQ(span->context.trace, parent.trace);
        EXPECT_EQ(span->parent, parent.span);
        EXPECT_EQ(span->kind, SpanKind::consumer);
        EXPECT_THAT(span->links, testing::ElementsAre(whole.context));
        EXPECT_EQ(text_of(*span, "onceward.outcome"), "applied");
        EXPECT_FALSE(span->failed);
    }
}

TEST_F(BatchTraces, ATransactionInOneRoundTripHasNoEventsOfItsParts) {
    BatchTrace trace(&none_of_its_own_, "group", "orders");
    Batch batch = batch_of({sampled});
    trace.begin(batch);
    for (const Step step : {Step::before_begin, Step::after_fence, Step::after_claims,
                            Step::after_sink, Step::before_commit, Step::sent_whole,
                            Step::after_commit}) {
        trace.reached(step);
    }
    trace.ended(batch.chunks[0].messages[0], "applied");
    trace.end();
    const std::vector<TraceSpan> spans = taken(none_of_its_own_);
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].name, "COMMIT");
    ASSERT_EQ(spans[2].events.size(), 2U);
    EXPECT_EQ(spans[2].events[0].name, "begin");
    EXPECT_EQ(spans[2].events[1].name, "sent in one round trip");
    EXPECT_GE(spans[0].start, spans[2].events[0].at);
}

TEST_F(BatchTraces, WithoutARecordedMessageTheRatioDecides) {
    Batch batch = batch_of({unsampled, "", unsampled});
    BatchTrace never(&none_of_its_own_, "group", "orders");
    never.begin(batch);
    never.reached(Step::before_begin);
    never.end();
    EXPECT_TRUE(taken(none_of_its_own_).empty());
    Tracer all({.ratio = 1});
    BatchTrace always(&all, "group", "orders");
    always.begin(batch);
    EXPECT_EQ(batch.chunks[0].messages[0].trace, nullptr) << "its sender said that it is not";
    EXPECT_NE(batch.chunks[0].messages[1].trace, nullptr) << "its trace begins here";
    always.ended(batch.chunks[0].messages[1], "duplicate");
    always.end();
    EXPECT_EQ(taken(all).size(), 2U);
    BatchTrace off(nullptr, "group", "orders");
    Batch other = batch_of({sampled});
    off.begin(other);
    off.end();
    EXPECT_EQ(other.chunks[0].messages[0].trace, nullptr);
}

TEST_F(BatchTraces, LinksCommitsAndMessagesAreBounded) {
    Tracer small({.ratio = 0, .queue = 50});
    BatchTrace trace(&small, "group", "orders");
    Batch batch = batch_of(std::vector<std::string>(500, sampled));
    trace.begin(batch);
    for (int i = 0; i < 100; ++i) {
        trace.reached(Step::before_begin);
        trace.reached(Step::after_fence);
        trace.reached(Step::before_commit);
        trace.reached(Step::after_commit);
    }
    trace.end();
    const std::vector<TraceSpan> spans = taken(small);
    EXPECT_EQ(spans.size(), 17U) << "16 commits and the batch";
    EXPECT_EQ(spans.back().links.size(), 128U);
    EXPECT_EQ(spans.back().links_dropped, 372);
    EXPECT_EQ(spans.back().events.size(), 128U);
    EXPECT_EQ(spans.back().events_dropped, 72);
    int traced = 0;
    for (const Message& message : batch.chunks[0].messages) traced += message.trace != nullptr;
    EXPECT_EQ(traced, 50);
}

TEST_F(BatchTraces, AMessageThatDidNotLandHasASpanOnlyAfterAFailure) {
    BatchTrace trace(&none_of_its_own_, "group", "orders");
    Batch left = batch_of({sampled});
    trace.begin(left);
    trace.end();
    EXPECT_EQ(taken(none_of_its_own_).size(), 1U) << "the batch alone";
    Batch failing = batch_of({sampled});
    trace.begin(failing);
    trace.failed("40001");
    trace.end();
    const std::vector<TraceSpan> spans = taken(none_of_its_own_);
    ASSERT_EQ(spans.size(), 2U);
    for (const TraceSpan& span : spans) {
        EXPECT_TRUE(span.failed);
        EXPECT_EQ(text_of(span, "error.type"), "40001");
    }
    EXPECT_EQ(text_of(spans[0], "onceward.outcome"), "not_committed");
}

TEST_F(BatchTraces, ARejectedMessageFailedAndAFailureThatPassedDidNot) {
    BatchTrace trace(&none_of_its_own_, "group", "orders");
    Batch batch = batch_of({sampled, sampled});
    trace.begin(batch);
    trace.failed("23514");
    trace.reached(Step::before_commit);
    trace.reached(Step::after_commit);
    std::vector<Message>& messages = batch.chunks[0].messages;
    messages[1].rejection = Rejection{Rejection::Kind::sink, "refused", "23514", 1};
    trace.ended(messages[0], "applied");
    trace.ended(messages[1], "dead_lettered");
    trace.end();
    const std::vector<TraceSpan> spans = taken(none_of_its_own_);
    ASSERT_EQ(spans.size(), 4U);
    EXPECT_FALSE(spans[1].failed);
    EXPECT_TRUE(spans[2].failed);
    EXPECT_EQ(text_of(spans[2], "error.type"), "sink");
    EXPECT_FALSE(spans[3].failed) << "the batch has landed";
}

}  // namespace
}  // namespace onceward
