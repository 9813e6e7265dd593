#include "gateway/to_upstream/upstream_session.h"

#include "dedup/base/backoff.h"
#include "dedup/base/expects.h"
#include "dedup/base/logging.h"
#include "dedup/ledger/ledger.h"
#include "dedup/policy/failure.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/http_header_rules.h"
#include "dedup/trace/call_span.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view statement_timeout = "57014";

struct CallUnderWay {
    std::atomic<std::int64_t>& calls;
    ~CallUnderWay() { --calls; }
};

ConnectionOptions status_session(ConnectionOptions options) {
    options.application_name += " status";
    return options;
}

}  // namespace

UpstreamSession::UpstreamSession(const UpstreamRequestOptions& options, std::stop_token stop)
    : options_(options),
      stop_(std::move(stop)),
      client_(options.client()),
      session_({.connection = options.postgres,
                .guard = options.guard,
                .set_up = [this](Connection& connection) { set_up(connection); },
                .forget =
                    [this] {
                        if (results_) results_->connection_lost();
                    }}) {}

Leases UpstreamSession::leases_of(const Attempt& attempt) const {
    return Leases(registered_.value(), options_.ledger.lease, attempt.token);
}

// DANGER: keep these lines in this order: claim the key and commit, call, store the answer. If the
// call came before the committed claim, a second process could call as well.
UpstreamSession::Carried UpstreamSession::carry_out(const KeyedRequest& request,
                                                    Clock::time_point deadline) {
    expects(may_be_forwarded(request.request.target), "the target of a call may be forwarded");
    if (request.key.empty()) return carry_without_key(request);
    Attempt attempt{.request = request, .token = random_digest()};
    may_be_claimed_ = false;
    std::optional<KeyedOutcome> other;
    // DANGER: no call without a lease that outlasts it: a claim that took long is repeated. No
    // call after the deadline either: its client is asked to send the request again.
    bool claimed = false;
    const bool asked = try_until(deadline, [&] {
        other = claim(attempt);
        claimed = !other && Clock::now() + options_.upstream.timeout < attempt.held_until;
        if (other || claimed) return;
        // The key is mine, although no call may begin: it is released if no time is left to claim
        // it again.
        may_be_claimed_ = true;
        try_again("the claim took half of its lease");
    });
    if (!asked || (claimed && Clock::now() >= deadline)) {
        // No call was made; a claim that is in doubt, or came too late, is released.
        Carried carried{.outcome = ask_again_later()};
        const bool free = claimed ? release(attempt, Clock::now()) : !may_be_claimed_;
        if (!free) carried.in_doubt = claim_of(attempt);
        return carried;
    }
    if (other) {
        Carried carried{.outcome = std::move(*other), .as_of = attempt.asked};
        const auto* answered = std::get_if<KeyedAnswer>(&carried.outcome);
        carried.elsewhere = answered != nullptr && answered->state == KeyState::in_flight;
        if (carried.elsewhere) options_.original(request.digest);
        return carried;
    }
    options_.original(request.digest);
    reached(options_.observer, Step::after_claims);
    UpstreamAnswer answer = call(attempt);
    reached(options_.observer, Step::after_sink);
    const CallEnd end = end_of(answer, options_.upstream);
    if (end != CallEnd::final_answer) log_end(attempt, answer);
    const auto patience = Clock::now() + options_.patience;
    std::optional<Carried> carried;
    std::optional<ClaimInDoubt> not_released;
    switch (fate_of(end, options_.upstream)) {
        case KeyFate::stored: {
            const MessageResult result = result_of(std::move(answer), options_.limits);
            try_until(patience, [&] { carried = store(attempt, result); });
            // If it was not stored, the key is in flight until the lease ends, although it took
            // effect.
            return carried ? std::move(*carried) : Carried{.outcome = ask_again_later()};
        }
        case KeyFate::released:
            // The client's answer says that the key is free, so release it when PostgreSQL is back.
            if (!release(attempt, patience)) not_released = claim_of(attempt);
            break;
        case KeyFate::held: break;
    }
    // DANGER: only requests that arrived before the claim get this answer. If a fail-over lost the
    // claim, another process may have carried out the key by now and stored a different answer.
    return {.outcome = passed_on(std::move(answer), options_.upstream, options_.limits,
                                 options_.ledger.lease),
            .as_of = attempt.asked,
            .in_doubt = not_released};
}

ClaimInDoubt UpstreamSession::claim_of(const Attempt& attempt) {
    return {attempt.request.digest, attempt.request.fingerprint, attempt.token};
}

// Such a request cannot be repeated: a stored answer would be useless, and a lease without an end
// would be in flight until somebody intervened.
UpstreamSession::Carried UpstreamSession::carry_without_key(const KeyedRequest& request) {
    Attempt attempt{.request = request, .token = {}};
    UpstreamAnswer answer = call(attempt);
    if (end_of(answer, options_.upstream) != CallEnd::final_answer) log_end(attempt, answer);
    return {.outcome = passed_on_without_key(std::move(answer), options_.limits)};
}

void UpstreamSession::log_end(const Attempt& attempt, const UpstreamAnswer& answer) const {
    log_warning("http.upstream", {{"route", options_.name},
                                  {"digest", hex(attempt.request.digest)},
                                  {"status", answer.status},
                                  {"sent", answer.carried},
                                  {"failure", answer.failure}});
}

// Returns nullopt if the key belongs to this attempt from now on.
std::optional<KeyedOutcome> UpstreamSession::claim(Attempt& attempt) {
    const KeyedRequest& request = attempt.request;
    attempt.asked = Clock::now();
    reached(options_.observer, Step::before_begin);
    Leases leases = leases_of(attempt);
    results_->begin();
    OwnedTransaction transaction(*session_);
    const Claim wanted{request.digest, request.fingerprint, {}, {}, request.minted_at};
    const LeaseAnswer answer =
        leases.claim_request(transaction, wanted, options_.upstream.honours_key);
    if (answer.verdict != LeaseVerdict::mine) {
        std::optional<MessageResult> stored;
        const bool ended =
            answer.verdict == LeaseVerdict::done || answer.verdict == LeaseVerdict::failed;
        if (ended) stored = results_->get(transaction, {&request.digest, 1}).front();
        KeyedOutcome told = outcome_of(answer, options_.upstream, stored);
        const auto* problem = std::get_if<Problem>(&told);
        if (problem != nullptr && problem->kind == ProblemKind::outcome_unknown) {
            // An operator has to check it, and frees the key by its digest.
            log_warning("http.outcome_unknown",
                        {{"route", options_.name}, {"digest", hex(request.digest)}});
        }
        return told;
    }
    if (answer.taken_over) {
        log_warning("http.lease_taken_over",
                    {{"route", options_.name}, {"digest", hex(request.digest)}});
    }
    attempt.held_until = attempt.asked + options_.ledger.lease;
    transaction.commit();
    return std::nullopt;
}

bool UpstreamSession::release(const Attempt& attempt, Clock::time_point deadline) {
    return try_until(
        deadline, [&] { leases_of(attempt).release_request(*session_, attempt.request.digest); });
}

// DANGER: claim again under the same token first. The COMMIT may still be under way in the server,
// where no release sees it: the new claim waits for its end, and then the release finds it.
bool UpstreamSession::release_in_doubt(const ClaimInDoubt& claim) {
    return try_until(Clock::now(), [&] {
        Leases leases(registered_.value(), options_.ledger.lease, claim.token);
        OwnedTransaction transaction(*session_);
        leases.claim_request(transaction, {claim.key, claim.fingerprint, {}, {}}, false);
        leases.release_request(*session_, claim.key);
        transaction.commit();
    });
}

UpstreamAnswer UpstreamSession::call(Attempt& attempt) {
    ++*options_.calls;
    const CallUnderWay counted{*options_.calls};
    const HttpRequest& request = attempt.request.request;
    HttpHeaders headers =
        forwarded_headers(request.headers, options_.key_header, options_.upstream.forwarded);
    std::optional<TraceSpan> span = begin_trace(request.method, headers);
    UpstreamAnswer answer = client_({.method = request.method,
                                     .target = request.target,
                                     .headers = std::move(headers),
                                     .body = request.body,
                                     .key = attempt.request.digest},
                                    options_.ledger.lease / 3, [&] {
                                        if (!attempt.request.key.empty()) extend(attempt);
                                    });
    if (span) {
        end_call_span(*span, answer);
        options_.tracer->end(std::move(*span));
    }
    return answer;
}

// Replaces the context of the request's span, which the front door has set, with the call's.
std::optional<TraceSpan> UpstreamSession::begin_trace(const std::string& method,
                                                      HttpHeaders& headers) const {
    if (options_.tracer == nullptr) return std::nullopt;
    for (auto& [name, value] : headers) {
        if (!same_header(name, traceparent_header)) continue;
        const std::optional<TraceContext> parent = parse_traceparent(value);
        if (!parent || !parent->sampled) return std::nullopt;
        TraceSpan span = begin_call_span(method, options_.host, *parent);
        value = to_traceparent(span.context);
        for (const auto& [other, state] : headers) {
            if (same_header(other, tracestate_header)) span.tracestate = state;
        }
        return span;
    }
    return std::nullopt;
}

// The heartbeat. If it fails or waits, the call continues in the client's own thread: the lease
// that is held outlasts it in any case.
void UpstreamSession::extend(Attempt& attempt) try {
    session_.open();
    const LeaseTries mine{attempt.request.digest, 0};
    const auto asked = Clock::now();
    if (!leases_of(attempt).extend(*session_, {&mine, 1}).empty()) {
        attempt.held_until = asked + options_.ledger.lease;
    }
} catch (const std::exception& error) {
    log_warning("http.lease_not_extended", {{"route", options_.name}, {"error", error.what()}});
    session_.end();
}

UpstreamSession::Carried UpstreamSession::store(const Attempt& attempt,
                                                const MessageResult& result) {
    const KeyedRequest& request = attempt.request;
    const Carried answered{
        .outcome = KeyedAnswer{.state = KeyState::fresh, .result = response_of(result)},
        .stored = true,
        .as_of = Clock::now()};
    Leases leases = leases_of(attempt);
    results_->begin();
    OwnedTransaction transaction(*session_);
    const LeaseEnd end{.digest = request.digest,
                       .failed = result.kind == MessageResult::Kind::failed,
                       .counted = true,
                       .status = result.status,
                       .reason = {}};
    if (leases.finish(transaction, {&end, 1}, true).empty()) {
        // DANGER: the lease is no longer mine. Either a COMMIT of ours whose answer was lost took
        // effect, which the attempt id stored with the answer shows; or another process has taken
        // the key over, and a stale owner changes nothing.
        const auto known = results_->find(transaction, request.digest);
        if (known && known->attempt == attempt.token) return answered;
        log_warning("http.lease_lost", {{"route", options_.name}, {"digest", hex(request.digest)}});
        return {.outcome = KeyedAnswer{.state = KeyState::in_flight}};
    }
    const ResultStore::Stored stored{request.digest, request.tenant, result, attempt.token};
    results_->put(transaction, {&stored, 1});
    if (results_->settle(transaction) == Settlement::again) try_again("the ledger was rotated");
    reached(options_.observer, Step::before_commit);
    transaction.commit();
    reached(options_.observer, Step::after_commit);
    results_->committed();
    return answered;
}

bool UpstreamSession::try_until(Clock::time_point deadline, const std::function<void()>& step) {
    for (int tries = 1; !stop_.stop_requested() || tries == 1; ++tries) {
        try {
            session_.open();
            step();
            failures_.ended();
            return true;
        } catch (const PostgresError& error) {
            if (!may_try_again(error)) return false;
        }
        if (Clock::now() >= deadline) return false;
        sleep_unless(stop_, FailureSeries::usual.after(tries, roll()));
    }
    return false;
}

// Whether it is worth trying the same step again.
bool UpstreamSession::may_try_again(const PostgresError& error) {
    if (error.diagnosis().in_doubt) may_be_claimed_ = true;
    if (error.sqlstate() == statement_timeout) {
        log_warning("http.statement_timeout", {{"route", options_.name}});
    }
    switch (failures_.met(error, Origin::ours)) {
        case FailureAction::retry: return true;
        case FailureAction::reconnect:
            // DANGER: a COMMIT may be in doubt. Never ask by SELECT: run the same step again, under
            // the same token.
            log_warning("http.reconnect", {{"route", options_.name}, {"error", error.summary()}});
            session_.end();
            return true;
        case FailureAction::reject:
        case FailureAction::stop: break;
    }
    log_error("http.route_stopped", {{"route", options_.name}, {"error", error.summary()}});
    session_.end();
    return false;
}

void UpstreamSession::set_up(Connection& connection) {
    const auto longest =
        2 * options_.patience + options_.upstream.timeout + options_.postgres.statement_timeout;
    // DANGER: register in each new session. A fail-over may have lost the registration, and its
    // number may belong to another ledger now: leases and results would go to a foreign ledger.
    const RegisteredLedger registered =
        register_requests(connection, options_.ledger, options_.service, options_.name, longest);
    if (registered_ != registered) {
        registered_ = registered;
        results_ = std::make_unique<ResultStore>(registered_->ledger, options_.ledger.store);
    }
}

UpstreamStatus::UpstreamStatus(const UpstreamRequestOptions& options)
    : options_(options),
      session_({.connection = status_session(options.postgres),
                .forget = [this] { results_.reset(); }}) {}

std::optional<std::vector<StatusOutcome>> UpstreamStatus::look(const std::vector<Digest>& keys) {
    const bool new_session = !session_;
    std::optional<std::vector<StatusOutcome>> known = read(keys);
    // A session that was not used for a long time may be gone.
    if (!known && !new_session) known = read(keys);
    return known;
}

std::optional<std::vector<StatusOutcome>> UpstreamStatus::read(
    const std::vector<Digest>& keys) try {
    session_.open();
    const QueryResult rows = session_->query(sql::lease_status, {options_.ledger.name, keys});
    std::vector<StatusOutcome> known(keys.size());
    std::vector<Digest> ended;
    std::vector<std::size_t> places;
    for (int row = 0; row < rows.rows(); ++row) {
        const auto place = static_cast<std::size_t>(rows.integer(row, 0) - 1);
        const LeaseSeen lease{.in_flight = rows.integer(row, 1) == 1,
                              .left = std::chrono::milliseconds(rows.integer(row, 2)),
                              .status = static_cast<int>(rows.integer(row, 3))};
        known[place] = status_of_lease(lease);
        if (lease.in_flight) continue;
        ended.push_back(keys[place]);
        places.push_back(place);
    }
    if (ended.empty()) return known;
    // Results are read after the leases: an answer is committed together with its lease's end, so a
    // missing answer existed before and was removed.
    if (!results_) {
        results_ = std::make_unique<ResultStore>(static_cast<int>(rows.integer(0, 4)),
                                                 options_.ledger.store);
    }
    const auto answers = results_->get(*session_, ended);
    for (std::size_t i = 0; i < ended.size(); ++i) {
        if (!answers[i]) known[places[i]] = Problem{.kind = ProblemKind::answer_gone};
    }
    return known;
} catch (const std::exception& error) {
    log_warning("http.look_failed", {{"route", options_.name}, {"error", error.what()}});
    session_.end();
    return std::nullopt;
}

}  // namespace onceward
