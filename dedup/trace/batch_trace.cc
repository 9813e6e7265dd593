#include "dedup/trace/batch_trace.h"

#include <algorithm>

namespace onceward {
namespace {

// OpenTelemetry's default limits of a span's links and events.
constexpr std::size_t most_links = 128;
constexpr std::size_t most_events = 128;
// A batch that is searched for a refused message has many transactions.
constexpr int most_commits = 16;

SpanTime now() { return std::chrono::system_clock::now(); }

// The last one counts, as with all headers.
std::optional<TraceContext> context_of(const Record& record) {
    const auto text = last_header(record, traceparent_header);
    return text ? parse_traceparent(*text) : std::nullopt;
}

std::string state_of(const Record& record) {
    const auto text = last_header(record, tracestate_header);
    return text && valid_tracestate(*text) ? std::string(*text) : std::string();
}

}  // namespace

void BatchTrace::begin_recorded(Batch& batch) {
    messages_.clear();
    next_ = open_messages_ = 0;
    batch_ = {};
    for (Chunk& chunk : batch.chunks) {
        for (Message& message : chunk.messages) {
            if (const auto parent = context_of(message.record)) {
                if (parent->sampled) add(message, parent, child_of(*parent));
            } else if (const auto root = tracer_->root()) {
                add(message, std::nullopt, *root);
            }
        }
    }
    const std::optional<TraceContext> own = tracer_->root();
    recording_ = own || !messages_.empty();
    if (!recording_) return;
    // A batch with a recorded message is recorded: its span says what the message waited for.
    batch_.context =
        own.value_or(TraceContext{random_trace_id(), random_span_id(), true});
    batch_.name = "process " + topic_;
    batch_.kind = SpanKind::consumer;
    add_topic(batch_);
    batch_.add("messaging.batch.message_count", static_cast<std::int64_t>(batch.message_count()));
    commits_ = 0;
    failure_.clear();
}

void BatchTrace::add_topic(TraceSpan& span) const {
    span.add("messaging.system", "kafka");
    span.add("messaging.operation.type", "process");
    span.add("messaging.operation.name", "process");
    span.add("messaging.destination.name", topic_);
    span.add("messaging.consumer.group.name", group_);
}

void BatchTrace::add(Message& message, const std::optional<TraceContext>& parent,
                     const TraceContext& context) {
    const TraceContext& link = parent ? *parent : context;
    if (batch_.links.size() < most_links) {
        batch_.links.push_back(link);
    } else {
        ++batch_.links_dropped;
    }
    // More would find no room in the queue.
    if (messages_.size() >= tracer_->most_spans()) return;
    messages_.push_back({&message, context, parent});
    message.trace = &messages_.back().context;
    ++open_messages_;
}

void BatchTrace::add_event(std::string_view name, Attributes attributes) {
    if (batch_.events.size() >= most_events) {
        ++batch_.events_dropped;
        return;
    }
    batch_.events.push_back({name, now(), std::move(attributes)});
}

void BatchTrace::note(Step step) {
    switch (step) {
        case Step::before_begin:
            add_event("begin");
            events_at_begin_ = batch_.events.size();
            break;
        case Step::after_fence: add_event("fence held"); break;
        case Step::after_claims: add_event("keys claimed"); break;
        case Step::after_sink: add_event("rows written"); break;
        case Step::before_commit: commit_begun_ = now(); break;
        case Step::sent_whole:
            // Nobody knows yet which of the steps before it the server has passed.
            batch_.events.resize(events_at_begin_);
            add_event("sent in one round trip");
            commit_begun_ = now();
            break;
        case Step::after_commit: record_commit(); break;
        case Step::after_offset:
        case Step::in_rebalance:
        case Step::before_take_over:
        case Step::after_take_over:
        case Step::before_outbox_delete: break;
    }
}

void BatchTrace::note_failure(std::string_view type) {
    failure_ = type;
    add_event("exception", {{"exception.type", std::string(type)}});
}

void BatchTrace::record_commit() {
    failure_.clear();
    if (++commits_ > most_commits) return;
    TraceSpan span = begin_span("COMMIT", SpanKind::client, batch_.context);
    span.start = commit_begun_;
    span.end = now();
    span.add("db.system.name", "postgresql");
    span.add("db.operation.name", "COMMIT");
    ended_.push_back(std::move(span));
}

void BatchTrace::ended(const Message& message, std::string_view outcome) {
    if (message.trace == nullptr || open_messages_ == 0) return;
    // Messages nearly always end in order, so that the first comparison finds this one.
    for (std::size_t looked = 0; looked < messages_.size(); ++looked) {
        Recorded& one = messages_[next_];
        next_ = (next_ + 1) % messages_.size();
        if (one.message != &message) continue;
        if (!one.over) record(one, outcome, message.rejection.has_value());
        return;
    }
}

void BatchTrace::record(Recorded& recorded, std::string_view outcome, bool failed) {
    recorded.over = true;
    --open_messages_;
    const Message& message = *recorded.message;
    TraceSpan span{.name = batch_.name, .kind = SpanKind::consumer, .context = recorded.context};
    if (recorded.parent) {
        span.parent = recorded.parent->span;
        span.tracestate = state_of(message.record);
    }
    span.start = batch_.start;
    span.end = now();
    span.links.push_back(batch_.context);
    add_topic(span);
    span.add("messaging.destination.partition.id",
             std::to_string(message.record.partition.raw()));
    span.add("messaging.kafka.offset", message.record.offset.raw());
    if (message.digest != Digest{}) span.add("onceward.key.digest", hex(message.digest));
    span.add("onceward.outcome", std::string(outcome));
    if (failed) {
        span.fail(message.rejection ? std::string(to_text(message.rejection->kind)) : failure_);
    }
    ended_.push_back(std::move(span));
}

void BatchTrace::end_recorded() {
    for (Recorded& one : messages_) {
        if (!one.over && !failure_.empty()) record(one, "not_committed", true);
    }
    batch_.end = now();
    if (!failure_.empty()) batch_.fail(failure_);
    ended_.push_back(std::move(batch_));
    tracer_->end(std::exchange(ended_, {}));
    messages_.clear();
    open_messages_ = 0;
    recording_ = false;
}

}  // namespace onceward
