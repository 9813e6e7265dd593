#include "sinks/webhook/webhook_sink.h"

#include <algorithm>
#include <stdexcept>

#include "dedup/message/trace_state.h"
#include "dedup/sink/http_header_rules.h"
#include "dedup/trace/call_span.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

HttpClientOptions client_options(const WebhookOptions& options) {
    return {.concurrency = options.concurrency,
            .timeout = options.timeout,
            .connect_timeout = options.connect_timeout,
            .allowed = networks_of(options.allow_private),
            .ca_file = options.ca_file,
            .answer_bytes = options.answer_bytes};
}

}  // namespace

WebhookSink::WebhookSink(WebhookOptions options, Tracer* tracer)
    : options_(std::move(options)), tracer_(tracer), client_(client_options(options_)) {
    const std::optional<CallAddress> address = call_address(options_.url.reveal());
    if (!address) {
        throw std::invalid_argument("the webhook's url is not an http or https address");
    }
    host_ = address->host;
}

std::optional<Rejection> WebhookSink::encode(Message& message, std::pmr::memory_resource&) const {
    if (message.record.payload && message.operation == Operation::upsert) return std::nullopt;
    return Rejection{Rejection::Kind::unmappable, "a message without a payload cannot be sent", "",
                     1};
}

void WebhookSink::write(Transaction&, const BatchContext&, std::span<const Message* const>) {
    throw std::logic_error("a webhook's effects are not in a transaction");
}

HttpCall WebhookSink::request_of(const Message& message, const TraceContext* call) const {
    HttpCall request;
    request.url = options_.url;
    request.method = options_.method;
    request.body = std::string(message.record.payload.value_or(""));
    auto& headers = request.headers;
    headers.emplace_back("Content-Type", options_.content_type);
    headers.insert(headers.end(), options_.headers.begin(), options_.headers.end());
    headers.emplace_back(options_.key_header, key_header_value(message.digest));
    const RecordTrace trace = trace_to_continue(message);
    if (call != nullptr) {
        headers.emplace_back(std::string(traceparent_header), to_traceparent(*call));
    } else if (!trace.parent.empty()) {
        headers.emplace_back(std::string(traceparent_header), trace.parent);
    } else {
        headers.emplace_back(std::string(traceparent_header), own_traceparent(message.digest));
    }
    if (std::string state = state_to_continue(message); !state.empty()) {
        headers.emplace_back(std::string(tracestate_header), std::move(state));
    }
    if (options_.sign_secret.empty()) return request;
    const auto now = since_1970<std::chrono::seconds>();
    if (options_.sign_scheme == WebhookOptions::SignScheme::standard_webhooks) {
        for (auto& [name, value] : standard_webhooks_headers(
                 options_.sign_secret, downstream_key(message.digest), now, request.body)) {
            headers.emplace_back(name, std::move(value));
        }
    } else {
        headers.emplace_back(options_.sign_header,
                             signature(options_.sign_secret, now, request.body));
    }
    return request;
}

std::vector<Preview> WebhookSink::preview(const Message& message) const {
    const HttpCall request = request_of(message, nullptr);
    Preview shown{.kind = Preview::Kind::request};
    shown.fields = {{"method", "", request.method}, {"body", "", request.body}};
    for (const auto& [name, value] : request.headers) {
        const bool configured = std::ranges::any_of(
            options_.headers, [&](const auto& own) { return same_header(own.first, name); });
        const bool signs = same_header(name, options_.sign_header) ||
                           name == "webhook-signature" || name == "webhook-timestamp";
        if (!configured && !signs) shown.headers.push_back({name, "", value.reveal()});
    }
    return {std::move(shown)};
}

void WebhookSink::begin(const Effect& effect) {
    const TraceContext* const message = effect.message->trace;
    if (tracer_ == nullptr || message == nullptr) {
        return client_.begin(effect.number, request_of(*effect.message, nullptr));
    }
    TraceSpan span = begin_call_span(options_.method, host_, *message);
    span.tracestate = state_to_continue(*effect.message);
    client_.begin(effect.number, request_of(*effect.message, &span.context));
    spans_.insert_or_assign(effect.number, std::move(span));
}

void WebhookSink::cancel(std::uint64_t number) {
    client_.cancel(number);
    trace_end({.failure = "cancelled", .number = number});
}

void WebhookSink::trace_end(const HttpAnswer& answer) {
    auto ended = spans_.extract(answer.number);
    if (ended.empty()) return;
    end_call_span(ended.mapped(), answer);
    tracer_->end(std::move(ended.mapped()));
}

EffectOutcome WebhookSink::outcome_of(HttpAnswer answer) const {
    EffectOutcome outcome;
    outcome.number = answer.number;
    if (answer.status == 0) {
        outcome.reason = answer.failure;
        return outcome;
    }
    outcome.kind = meaning_of(answer.status, options_.retry_on);
    outcome.reason = "answered " + std::to_string(answer.status);
    if (answer.status >= 300 && answer.status < 400) outcome.reason += ", and is not followed";
    MessageResult& result = outcome.result;
    const bool failed = outcome.kind == EffectOutcome::Kind::failed;
    result.kind = failed ? MessageResult::Kind::failed : MessageResult::Kind::done;
    result.status = answer.status;
    result.body = std::move(answer.body);
    if (outcome.kind == EffectOutcome::Kind::again) {
        for (const auto& [name, value] : answer.headers) {
            if (!same_header(name, "Retry-After")) continue;
            outcome.not_before = retry_after(value, since_1970<std::chrono::seconds>());
        }
    }
    // ResultLimits say which of them are kept.
    result.headers = std::move(answer.headers);
    return outcome;
}

std::vector<EffectOutcome> WebhookSink::wait(std::chrono::milliseconds most) {
    std::vector<EffectOutcome> outcomes;
    for (HttpAnswer& answer : client_.wait(most)) {
        trace_end(answer);
        outcomes.push_back(outcome_of(std::move(answer)));
    }
    return outcomes;
}

}  // namespace onceward
