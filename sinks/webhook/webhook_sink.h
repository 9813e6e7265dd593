#pragma once
// Messages as HTTP calls: payload as body, a key that stays the same on each try, traceparent
// passed through, signed if a secret is given. One object for each worker and topic; encode() may
// run on the reader's thread, as it changes nothing, all else belongs to the writer's. Throws
// std::invalid_argument for options that make no sense, which the configuration's checks catch.

#include <map>
#include <vector>

#include "dedup/sink/sink.h"
#include "dedup/trace/tracer.h"
#include "sinks/webhook/http_client.h"
#include "sinks/webhook/webhook_options.h"

namespace onceward {

class WebhookSink final : public Sink, public Effects {
  public:
    // `tracer`: null if traces are off; outlives the sink. Then each call of a message whose trace
    // is recorded has a span, which the receiver's spans continue.
    explicit WebhookSink(WebhookOptions options, Tracer* tracer = nullptr);

    Effects* effects() override { return this; }
    // A message without a payload has nothing to send.
    std::optional<Rejection> encode(Message& message, std::pmr::memory_resource&) const override;
    // Without the headers that the configuration sets, whose values may be secrets, and without
    // the signature, which depends on the time.
    std::vector<Preview> preview(const Message& message) const override;
    // Never called: std::logic_error.
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;

    std::size_t concurrency() const override { return options_.concurrency; }
    std::chrono::milliseconds longest() const override { return options_.timeout; }
    void begin(const Effect& effect) override;
    std::vector<EffectOutcome> wait(std::chrono::milliseconds most) override;
    void cancel(std::uint64_t number) override;

  private:
    // `call`: the context of the call's span, if it has one.
    HttpCall request_of(const Message& message, const TraceContext* call) const;
    EffectOutcome outcome_of(HttpAnswer answer) const;
    void trace_end(const HttpAnswer& answer);
    const WebhookOptions options_;
    Tracer* const tracer_;
    std::string host_;  // of the url
    HttpClient client_;
    std::map<std::uint64_t, TraceSpan> spans_;  // of calls under way, by number
};

}  // namespace onceward
