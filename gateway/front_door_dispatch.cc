// Where a request goes after it has passed all checks: the topic, the sink, the upstream, or the
// status query of its key.

#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"
#include "gateway/request_visit.h"
#include "gateway/requests/bulk_request.h"

namespace onceward {
namespace {

// The answers of a bulk, filled from the threads in which they arrive.
struct BulkAnswers {
    BulkAnswers(BulkResponse known, std::size_t waited_for)
        : all(std::move(known)), open(waited_for) {}
    Mutex mutex;
    BulkResponse all ONCEWARD_GUARDED_BY(mutex);
    std::size_t open ONCEWARD_GUARDED_BY(mutex);
};

// The function that responds adds the key itself.
HttpResponse response_to(KeyedOutcome outcome, const RouteOptions& options) {
    if (const auto* problem = std::get_if<Problem>(&outcome)) return to_response(*problem);
    return answer_of(std::move(std::get<KeyedAnswer>(outcome)),
                     {.key = options.key.header,
                      .replay = options.replay_header,
                      .window = options.window_header,
                      .known = options.window});
}

std::string_view to_text(EventFate fate) {
    switch (fate) {
        case EventFate::taken: return "taken";
        case EventFate::too_large: return "too_large";
        case EventFate::no_room: return "no_room";
        case EventFate::unknown: return "unknown";
    }
    return "";
}

// The span of a record that continues a request's trace.
TraceSpan begin_sending(const TraceContext& request, const std::string& topic) {
    TraceSpan span = begin_span("send " + topic, SpanKind::producer, request);
    span.add("messaging.system", "kafka");
    span.add("messaging.operation.type", "send");
    span.add("messaging.operation.name", "send");
    span.add("messaging.destination.name", topic);
    return span;
}

// The record's headers name the trace that it continues, even if the route forwards others. Returns
// the record's span if the trace is recorded.
std::shared_ptr<TraceSpan> continue_trace(const HttpHeaders& request, const std::string& topic,
                                          HttpHeaders& record) {
    const auto came = only_value(request, traceparent_header);
    std::optional<TraceContext> context = came ? parse_traceparent(*came) : std::nullopt;
    if (!context) return nullptr;
    std::shared_ptr<TraceSpan> span;
    const auto state = only_value(request, tracestate_header);
    const bool has_state = state && valid_tracestate(*state);
    if (context->sampled) {
        span = std::make_shared<TraceSpan>(begin_sending(*context, topic));
        if (has_state) span->tracestate = *state;
        context = span->context;
    }
    std::erase_if(record, [](const auto& header) {
        return header.first == traceparent_header || header.first == tracestate_header;
    });
    record.emplace_back(traceparent_header, to_traceparent(*context));
    if (has_state) record.emplace_back(tracestate_header, *state);
    return span;
}

}  // namespace

ProblemKind problem_of(KeyFault fault) {
    if (fault == KeyFault::missing) return ProblemKind::key_missing;
    if (fault == KeyFault::not_expected) return ProblemKind::key_not_expected;
    return ProblemKind::key_malformed;
}

void FrontDoor::to_topic(const VisitPointer& visit, const TopicTarget& target) {
    TopicRecord record{.topic = target.topic, .key = {}, .payload = {}, .headers = {}};
    if (visit->key) {
        record.key = visit->key->text;
        record.headers.emplace_back("Idempotency-Key", visit->key->text);
    }
    if (!visit->tenant.empty()) record.headers.emplace_back("onceward-tenant", visit->tenant);
    for (const std::string& name : target.forwarded) {
        // DANGER: never forward these. Consumers of the topic trust them, and the last of two wins,
        // so a client could choose its tenant.
        if (is_own_header(name)) continue;
        for (const std::string_view value : values_of(visit->request.headers, name)) {
            record.headers.emplace_back(lower_case(name), std::string(value));
        }
    }
    std::shared_ptr<TraceSpan> sending;
    if (parts_.tracer != nullptr) {
        sending = continue_trace(visit->request.headers, target.topic, record.headers);
    }
    record.payload = std::move(visit->request.body);
    const auto answer = [visit, sending, tracer = parts_.tracer](EventFate fate) {
        if (sending) {
            if (fate != EventFate::taken) sending->fail(std::string(to_text(fate)));
            tracer->end(std::move(*sending));
        }
        if (fate == EventFate::taken) {
            return visit->respond({.status = 202, .headers = {}, .body = {}});
        }
        if (fate == EventFate::too_large) {
            return visit->refuse({.kind = ProblemKind::body_too_large,
                                  .detail = "The event is larger than its topic accepts."});
        }
        Problem problem = ask_again_later();
        problem.detail =
            fate == EventFate::no_room
                ? "Too many events wait for their topics already; this one was not stored."
                : "Whether the event was stored is not known; send it again with the same key.";
        visit->refuse(problem);
    };
    parts_.topics->produce(std::move(record), answer);
}

std::variant<KeyedRequest, Problem> FrontDoor::keyed(const Visit& visit, const std::string& key,
                                                     HttpRequest request) const {
    const RouteOptions& options = visit.options();
    KeyedRequest made;
    made.route = visit.route->place;
    made.tenant = visit.tenant;
    made.digest = key.empty() ? random_digest() : request_digest(options, visit.tenant, key);
    made.key = key;
    if (!key.empty() && options.fingerprint && !options.fingerprint_fields.empty()) {
        const auto fields = parts_.fields(made.route, request.body);
        if (const auto* why = std::get_if<std::string>(&fields)) {
            // Before the key is claimed: a corrected request passes under the same key.
            return Problem{.kind = ProblemKind::malformed_request,
                           .detail = "The body cannot be compared with a repeat's: " + *why + "."};
        }
        made.fingerprint = request_fingerprint(request, std::get<Digest>(fields));
    } else if (!key.empty() && options.fingerprint) {
        made.fingerprint = request_fingerprint(request);
    }
    if (const MintedSource& minted = options.minted_at;
        !key.empty() && minted.kind != MintedSource::Kind::none) {
        made.minted_at = minted_at_of(minted, key, request.headers, request.body);
        if (!made.minted_at) return problem_of(minted);
        made.fingerprint = stamped(made.fingerprint, *made.minted_at);
    }
    made.request = std::move(request);
    return made;
}

void FrontDoor::submit(const VisitPointer& visit) {
    std::vector<KeyedRequest> requests;
    const std::string key = visit->key ? visit->key->text : "";
    auto made = keyed(*visit, key, std::move(visit->request));
    if (const auto* problem = std::get_if<Problem>(&made)) return visit->refuse(*problem);
    requests.push_back(std::move(std::get<KeyedRequest>(made)));
    requests.front().parameters = visit->parameters;
    parts_.keyed->submit(std::move(requests), [visit](std::size_t, KeyedOutcome outcome) {
        visit->respond(response_to(std::move(outcome), visit->options()));
    });
}

void FrontDoor::to_status(const VisitPointer& visit) {
    const Digest key = request_digest(visit->options(), visit->tenant, visit->key->text);
    parts_.keyed->look(visit->route->place, key, [visit](const StatusOutcome& outcome) {
        visit->respond(status_response(outcome));
    });
}

void FrontDoor::to_sink_in_bulk(const VisitPointer& visit) {
    const RouteOptions& options = visit->options();
    BulkReading reading = read_bulk(visit->request.body, options.key, most_bulk_items);
    if (!reading.fault.empty()) {
        return visit->refuse({.kind = ProblemKind::malformed_request,
                              .detail = "The body is not accepted: " + reading.fault + "."});
    }
    std::vector<std::string> keys;
    for (const BulkItem& item : reading.items) keys.push_back(item.key);
    BulkResponse known(std::move(keys));
    std::vector<KeyedRequest> requests;
    std::vector<std::size_t> places;
    const auto head = std::make_shared<const HttpHeaders>(
        record_headers(std::move(visit->request.headers), visit->parameters));
    const auto refused = [&](const BulkItem& item) -> std::optional<Problem> {
        if (!item.malformed.empty()) {
            return Problem{.kind = ProblemKind::malformed_request, .detail = item.malformed};
        }
        if (item.fault) {
            return Problem{.kind = problem_of(*item.fault),
                           .detail = describe(*item.fault, options.key, {KeyPlace::Kind::item})};
        }
        std::optional<std::chrono::seconds> wait;
        if (!item.key.empty()) wait = key_too_often(*visit->route, visit->tenant, item.key);
        // The first item uses the token that was taken for the request.
        if (!wait && !requests.empty()) wait = tenant_too_often(*visit->route, visit->tenant);
        if (!wait) return std::nullopt;
        // An item has no Retry-After header, so the detail says how long to wait.
        return Problem{.kind = ProblemKind::too_many_requests,
                       .detail = "Retry in " + std::to_string(wait->count()) + " seconds."};
    };
    for (std::size_t i = 0; i < reading.items.size(); ++i) {
        BulkItem& item = reading.items[i];
        if (const auto problem = refused(item)) {
            known.put(i, to_response(*problem));
            continue;
        }
        HttpRequest request{.method = visit->request.method,
                            .target = visit->request.target,
                            .headers = {},
                            .body = std::move(item.body)};
        auto made = keyed(*visit, item.key, std::move(request));
        if (const auto* problem = std::get_if<Problem>(&made)) {
            known.put(i, to_response(*problem));
            continue;
        }
        requests.push_back(std::move(std::get<KeyedRequest>(made)));
        // DANGER: all items share one head. With a copy for each, a request would take a thousand
        // times the memory in which it arrived.
        requests.back().request.target.clear();
        requests.back().head = head;
        places.push_back(i);
    }
    if (requests.empty()) return visit->respond(known.made());
    const auto answers = std::make_shared<BulkAnswers>(std::move(known), requests.size());
    parts_.keyed->submit(std::move(requests), [visit, answers, places = std::move(places)](
                                                  std::size_t place, KeyedOutcome outcome) {
        const HttpResponse response = response_to(std::move(outcome), visit->options());
        const MutexLock lock(answers->mutex);
        // Written now, with a bound. Otherwise a thousand whole answers would be kept until the
        // last one arrives.
        answers->all.put(places[place], response);
        if (--answers->open == 0) visit->respond(answers->all.made());
    });
}

}  // namespace onceward
