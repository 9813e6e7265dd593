// What happens to the requests of a failed transaction: another try, a try without those that the
// sink refuses, or smaller batches.

#include <algorithm>
#include <utility>

#include "dedup/base/logging.h"
#include "gateway/to_sink/sink_session.h"

namespace onceward {
namespace {

constexpr std::string_view lock_not_to_be_had = "55P03";
constexpr std::string_view statement_cancelled = "57014";

}  // namespace

// Returns whether the next attempt at the first part searches for the requests that the sink
// refuses. False if it is a single request or was searched just before.
bool SinkSession::begin_search(const Parts& parts) {
    searching_ = !searching_ && parts.front().size() > 1;
    refused_ = searching_;
    return searching_;
}

SinkSession::Step SinkSession::search(Parts& parts) {
    const std::vector<RequestInBatch*> requests(parts.front().begin(), parts.front().end());
    const auto refusals =
        transaction_->search(*session_, requests, patience_, search_, failures_.repeated());
    if (!refusals) return Step::next;
    searching_ = false;
    if (const auto step = reconsidered()) return *step;
    if (refusals->empty()) {
        // They are refused only together, or no longer at all.
        if (std::exchange(refused_, false)) halve(parts);
        return Step::next;
    }
    auto next = refusals->begin();
    std::erase_if(parts.front(), [&](WaitingRequest* waiting) {
        if (next == refusals->end() || next->message != &waiting->message()) return false;
        refuse(*waiting, *next++);
        return true;
    });
    report_stopped(*refusals);
    return Step::next;
}

// Once for all of them: each may be sent again many times a second until it is repaired.
void SinkSession::report_stopped(const std::vector<Refusal>& refusals) const {
    const auto stops = [](const Refusal& one) { return one.action == FailureAction::stop; };
    const auto first = std::ranges::find_if(refusals, stops);
    if (first == refusals.end()) return;
    log_error("http.request_refused", {{"route", options_.name},
                                       {"requests", std::ranges::count_if(refusals, stops)},
                                       {"digest", hex(first->message->digest)},
                                       {"error", first->summary}});
}

void SinkSession::refuse(WaitingRequest& waiting, const Refusal& refusal) const {
    change(waiting.state, RequestEvent::decide);
    if (refusal.action == FailureAction::stop) {
        // Somebody may repair the function or table, and then the same request passes.
        waiting.outcome = ask_again_later();
        return;
    }
    // PostgreSQL's own words may quote the values of rows.
    log_info("http.rejected", {{"route", options_.name},
                               {"digest", hex(waiting.request.digest)},
                               {"error", refusal.summary}});
    waiting.outcome = Problem{.kind = ProblemKind::rejected,
                              .detail = "The request violates a constraint of its target."};
}

SinkSession::Step SinkSession::failed(const PostgresError& error, Parts& parts) {
    if (session_ && transaction_->claiming() && error.sqlstate() == lock_not_to_be_had) {
        return held_up(parts, false);
    }
    if (error.sqlstate() == statement_cancelled) {
        log_warning("http.statement_timeout",
                    {{"route", options_.name}, {"requests", parts.front().size()}});
    }
    // Without a session, the failure is not from a statement of the batch.
    const Origin origin = session_ ? transaction_->origin() : Origin::ours;
    const FailureAction action = failures_.met(error, origin);
    if (action == FailureAction::stop && origin == Origin::sink && begin_search(parts)) {
        return Step::next;
    }
    if (action != FailureAction::reject) searching_ = false;
    switch (action) {
        case FailureAction::retry:
            if (origin != Origin::sink) return Step::again;
            if (error.sqlstate() == statement_cancelled) return too_slow(parts);
            // A function that raises it is tried at once, and a number of times.
            if (error.sqlstate() == lock_not_to_be_had && !is_raised(error.diagnosis())) {
                return locked_out(parts);
            }
            return Step::again;
        case FailureAction::reconnect:
            // DANGER: the COMMIT may be in doubt. Never ask by SELECT whether it landed: try the
            // same requests again. A claim whose result carries our own attempt is ours.
            for (WaitingRequest* waiting : parts.front()) {
                waiting->in_doubt = waiting->in_doubt || error.diagnosis().in_doubt;
            }
            log_warning("http.reconnect", {{"route", options_.name}, {"error", error.summary()}});
            session_.end();
            return Step::again;
        case FailureAction::reject: return reject(error, parts);
        case FailureAction::stop: return stopped(error.summary(), parts);
    }
    return Step::again;
}

// Another session has a lock that the sink needs for one of these requests. Each batch with such a
// request would wait for the whole lock_timeout, and the others with it, so waits for locks are
// short from now on. They are as long as usual again after a request's time: a row that many update
// is then waited for in PostgreSQL's queue, where each has its turn.
SinkSession::Step SinkSession::locked_out(Parts& parts) {
    const bool held = parts.front().front()->state == RequestState::held;
    if (!held && !std::exchange(limits_locks_, true)) {
        locks_limited_until_ = std::chrono::steady_clock::now() + options_.longest_request;
    }
    return held_up(parts, true);
}

// Another process has claimed one of these keys and has not committed or rolled back yet, or a lock
// is in the way. Only trying each request on its own shows which one.
SinkSession::Step SinkSession::held_up(Parts& parts, bool by_lock) {
    patience_ = short_patience;
    if (halve(parts)) return Step::next;
    WaitingRequest& alone = *parts.front().front();
    alone.locked_out = by_lock;
    change(alone.state, RequestEvent::hold);
    // The claim in its way may be its own: the server may still be working on its COMMIT.
    if (alone.in_doubt) alone.wait_until = alone.deadline;
    give_up_overdue(parts.front());
    parts.pop_front();
    return Step::next;
}

// Returns false if the first part is a single request.
bool SinkSession::halve(Parts& parts) {
    if (parts.front().size() < 2) return false;
    const std::vector<WaitingRequest*> part = std::move(parts.front());
    parts.pop_front();
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    parts.emplace_front(middle, part.end());
    parts.emplace_front(part.begin(), middle);
    return true;
}

// The sink may have met the row of a duplicate that another process has just committed. Returns the
// step to continue with in that case, or if PostgreSQL does not answer; else nullopt.
std::optional<SinkSession::Step> SinkSession::reconsidered() {
    try {
        if (claims_->reconsider(*session_)) return Step::next;
        return std::nullopt;
    } catch (const PostgresError&) {
        session_.end();
        return Step::again;
    }
}

SinkSession::Step SinkSession::reject(const PostgresError& error, Parts& parts) {
    if (const auto step = reconsidered()) return *step;
    if (begin_search(parts) || halve(parts)) return Step::next;
    WaitingRequest& alone = *parts.front().front();
    parts.pop_front();
    refuse(alone, {&alone.message(), FailureAction::reject, error.sqlstate(),
                   error.diagnosis().message, error.summary()});
    return Step::next;
}

// Together these requests take longer than a statement may: fewer are tried. One that is too slow
// alone is not tried again: all others would wait as long for each try.
SinkSession::Step SinkSession::too_slow(Parts& parts) {
    if (options_.timed_out) options_.timed_out();
    if (halve(parts)) return Step::next;
    WaitingRequest& alone = *parts.front().front();
    alone.outcome = ask_again_later();
    change(alone.state, RequestEvent::decide);
    parts.pop_front();
    return Step::next;
}

// A missing table or privilege: no request caused it, and no retry repairs it.
SinkSession::Step SinkSession::stopped(const std::string& why, Parts& parts) {
    log_error("http.route_stopped", {{"route", options_.name}, {"error", why}});
    for (WaitingRequest* waiting : parts.front()) {
        waiting->outcome = ask_again_later();
        change(waiting->state, RequestEvent::decide);
    }
    parts.pop_front();
    session_.end();
    return Step::next;
}

// What the sink's target answered for some of them cannot be sent or stored as an answer.
SinkSession::Step SinkSession::mismatched(const std::string& why, Parts& parts) {
    if (begin_search(parts)) return Step::next;
    searching_ = false;
    for (WaitingRequest* waiting : parts.front()) {
        refuse(*waiting, {&waiting->message(), FailureAction::stop, "", why, why});
    }
    parts.pop_front();
    return Step::next;
}

}  // namespace onceward
