#pragma once
// A request that passed all checks of the front door, and what carries it out. Thread-safety: see
// RequestTarget.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dedup/base/logging.h"
#include "dedup/base/state_machine.h"
#include "dedup/base/step_observer.h"
#include "dedup/ledger/ledger_options.h"
#include "dedup/message/digest.h"
#include "dedup/message/message.h"
#include "dedup/postgres/connection.h"
#include "gateway/requests/answers.h"
#include "gateway/requests/route_options.h"

namespace onceward {

class FrozenSessionGuard;

// What routes to sinks and to upstreams have in common.
struct KeyedRouteOptions {
    ConnectionOptions postgres;
    LedgerOptions ledger;
    std::string service;  // takes the place of a consumer group: the configuration's `group`
    std::string name;     // the route's operation
    ResultLimits limits{};
    std::chrono::milliseconds wait{0};  // of a request whose key is being worked on
    // The most requests that wait for a transaction, for a call or for another request of their
    // key; further ones get a 503 at once.
    std::size_t waiting = 10'000;
    FrozenSessionGuard* guard = nullptr;  // the process's; may be null
    StepObserver* observer = nullptr;     // may be null
};

// A request that passed all checks, on its way to a sink.
struct KeyedRequest {
    std::size_t route = 0;  // its place in GatewayOptions::routes
    HttpRequest request;
    std::vector<std::pair<std::string, std::string>> parameters;  // of the path
    // Headers and parameters as a record has them (record_headers()); null until it is needed. The
    // items of a bulk share it, and have no headers of their own.
    std::shared_ptr<const HttpHeaders> head;
    std::string tenant;
    std::string key;  // '' if the request has none
    Digest digest;    // of the key in its scope; random if there is no key
    std::optional<Digest> fingerprint;
    std::optional<MintedAt> minted_at;  // of the key, if the route asks for it
};
using KeyedOutcome = std::variant<KeyedAnswer, Problem>;

// Carries requests out. Thread-safe.
class RequestTarget {
  public:
    // Called once for each request, by its place among those that were submitted together; from
    // any thread.
    using Then = std::function<void(std::size_t place, KeyedOutcome outcome)>;
    virtual ~RequestTarget() = default;
    // Carries all of them out in one transaction, unless one of them is refused.
    virtual void submit(std::vector<KeyedRequest> requests, Then then) = 0;
    // Reports what became of the key's request, once; from any thread.
    virtual void look(std::size_t route, const Digest& key,
                      std::function<void(StatusOutcome)> then) = 0;
};

// The request's headers, in lower case and without those that only the front door may set
// (dedup/sink/http_header_rules.h), and the path's parameters as `{name}`.
HttpHeaders record_headers(HttpHeaders headers,
                           std::vector<std::pair<std::string, std::string>> parameters);

struct TopicRecord {
    std::string topic;
    // The idempotency key, so that repeats meet in one partition; nullopt: any partition.
    std::optional<std::string> key;
    std::string payload;
    HttpHeaders headers;
};

// What became of an event.
enum class EventFate : std::uint8_t {
    taken,      // the log has it, on as many replicas as it asks for
    too_large,  // the log accepts no event of that size; it was not stored
    no_room,    // too many events wait for the log already; it was not stored
    unknown,    // it may have been stored: send it again with the same key
};

// Where a route's events go. The gateway knows no Kafka: the composition root implements this with
// consumer/produce/producer.h. Thread-safe.
class TopicWriter {
  public:
    virtual ~TopicWriter() = default;
    using Done = std::function<void(EventFate)>;
    // `done` is called once, from any thread. The outcome of one event says nothing about the
    // others.
    virtual void produce(TopicRecord record, Done done) = 0;
};

// What a request's key and content are stored as. Pure; thread-safe.

// Where the keys of the route come from, in the form that their digests use:
// `header:Idempotency-Key`, `field:/id`.
std::string request_kind(const RouteOptions& route);

// The digest of the key in its scope: operation (method and route pattern), tenant, and where the
// key came from.
Digest request_digest(const RouteOptions& route, std::string_view tenant, std::string_view key);

// The digest of what a repeat must have in common with the first request: the target with its
// query, and the raw body. The key's operation has only the pattern, so the path is part of this.
Digest request_fingerprint(const HttpRequest& request);
// Whether both have what request_fingerprint() covers in common.
bool same_content(const HttpRequest& one, const HttpRequest& other);
// The fingerprint with the result of FieldsDigest in place of the body.
Digest request_fingerprint(const HttpRequest& request, const Digest& fields);

// The digest of the fields of a body that the route's fingerprint is made of, or why there is none.
// The gateway knows no decoder: the composition root has one for each route. Thread-safe.
using FieldsDigest =
    std::function<std::variant<Digest, std::string>(std::size_t route, std::string_view body)>;

// What a JSON body has at an RFC 6901 pointer. Null counts as absent, and an empty body has
// nothing. If a body cannot be read as JSON, nobody can tell what it has: that counts as a value
// without a text.
struct BodyField {
    bool is_there = false;
    // A text, or a whole number as it is written; nullopt if it is neither.
    std::optional<std::string> text{};
};
BodyField field_of(const std::string& body, const std::string& pointer);

// When a request's key was minted; nullopt if the time is missing or not readable.
std::optional<MintedAt> minted_at_of(const MintedSource& source, const std::string& key,
                                     const HttpHeaders& headers, const std::string& body);

// The problem that a client gets if the ledger cannot judge its key. REQUIRES: `verdict` is late or
// early.
Problem problem_of(Verdict verdict);
// The same if the key's time is missing or not readable.
Problem problem_of(const MintedSource& unreadable);

// Where a request is on its way to a sink or an upstream, and what leads from one state to another.
// docs/states.md has the meaning of each, and the diagram. Its client may have an answer already:
// the callback that a request holds is used once, at its deadline at the latest. Pure, except that
// change() writes a line to the log; thread-safe.
enum class RequestState : std::uint8_t {
    waiting,  // another request with its key is worked on in this process
    queued,   // for a transaction, or a call
    running,
    held,     // another process has its key, or a lock that it needs; it is tried again and again
    decided,  // its outcome is final
};

enum class RequestEvent : std::uint8_t { wait, queue, take, hold, decide };

inline constexpr auto request_machine = [] {
    using enum RequestState;
    constexpr std::nullopt_t no = std::nullopt;
    return StateMachine<RequestState, RequestEvent, 5, 5>{
        {"waiting", "queued", "running", "held", "decided"},
        {{
            // waiting, queued, running, held, decided
            {"wait", {waiting, no, no, no, no}},
            {"queue", {queued, no, no, no, no}},
            {"take", {no, running, no, held, no}},
            {"hold", {no, no, held, held, no}},
            {"decide", {no, decided, decided, decided, no}},
        }}};
}();

// If the event must never come in that state, this is logged, and the state stays.
inline void change(RequestState& state, RequestEvent event) {
    if (const auto next = request_machine.after(state, event)) {
        state = *next;
        return;
    }
    log_error("http.wrong_event",
              {{"state", request_machine.text(state)}, {"event", request_machine.text(event)}});
}

}  // namespace onceward
