#include "gateway/to_sink/sink_session.h"

#include <algorithm>
#include <cstring>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/ledger/ledger.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

// How long a batch's claims wait for those of other processes. A transaction rarely lasts that
// long. While it does, the other requests of this batch wait as well, and so do the route's next
// ones.
constexpr std::chrono::milliseconds usual_patience = 50ms;

// The number from which a session counts its requests: random, so that no other session has the
// same numbers, and far enough from the maximum.
std::int64_t random_number() {
    const Digest random = random_digest();
    std::uint64_t number = 0;
    std::memcpy(&number, random.bytes.data(), sizeof number);
    return static_cast<std::int64_t>(number >> 2);
}

}  // namespace

// The last try may begin just before the deadline, and check the claims at its end.
std::chrono::milliseconds longest_request(const SinkBatcherOptions& options) {
    return options.longest_request + options.postgres.statement_timeout;
}

SinkSession::SinkSession(const SinkBatcherOptions& options, std::stop_token stop)
    : options_(options),
      stop_(std::move(stop)),
      intake_(options.intake()),
      session_({.connection = options.postgres,
                .guard = options.guard,
                .set_up = [this](Connection& connection) { set_up(connection); },
                .forget =
                    [this] {
                        if (claims_) claims_->connection_lost();
                        if (results_) results_->connection_lost();
                    }}),
      sequence_(random_number()) {}

void SinkSession::carry_out(const std::vector<WaitingRequest*>& requests) {
    Parts parts(1);
    for (WaitingRequest* waiting : requests) {
        change(waiting->state, RequestEvent::take);
        if (waiting->state == RequestState::held) {
            parts.push_back({waiting});
        } else {
            parts.front().push_back(waiting);
        }
    }
    patience_ = parts.front().empty() ? short_patience : usual_patience;
    limits_locks_ = std::chrono::steady_clock::now() < locks_limited_until_;
    searching_ = search_.expects_one_of(parts.front().size());
    refused_ = false;
    int failures = 0;
    while (!parts.empty()) {
        give_up_overdue(parts.front());
        if (parts.front().empty()) {
            parts.pop_front();
            continue;
        }
        switch (attempt(parts)) {
            case Step::next: failures = 0; break;
            case Step::again:
                sleep_unless(stop_, FailureSeries::usual.after(++failures, roll()));
                break;
        }
    }
}

// Only keys without a result are looked up among the claims.
std::optional<std::vector<StatusOutcome>> SinkSession::look(std::span<const Digest> keys) try {
    session_.open();
    results_->begin();
    std::vector<std::optional<MessageResult>> found = results_->get(*session_, keys);
    std::vector<StatusOutcome> outcomes(keys.size());  // unknown
    std::vector<Digest> open;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (found[i]) continue;
        open.push_back(keys[i]);
        places.push_back(i);
    }
    std::vector<bool> claimed;
    if (!open.empty()) claimed = claims_->known(*session_, open);
    if (std::ranges::find(claimed, true) != claimed.end()) {
        // DANGER: read the results again, after the claims. A request that was committed between
        // the two reads has its answer, and its owner must not hear that it is gone.
        const auto later = results_->get(*session_, open);
        for (std::size_t i = 0; i < open.size(); ++i) {
            found[places[i]] = later[i];
            if (claimed[i]) outcomes[places[i]] = Problem{.kind = ProblemKind::answer_gone};
        }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!found[i]) continue;
        outcomes[i] = KeyStatus{.state = KeyStatus::State::completed,
                                .status = response_of(*found[i]).status};
    }
    return outcomes;
} catch (const std::exception& error) {
    log_warning("http.look_failed", {{"route", options_.name}, {"error", error.what()}});
    session_.end();
    return std::nullopt;
}

// The request as a record; the record's views are into the request.
Record SinkSession::record_of(KeyedRequest& request) {
    Record record;
    record.offset = Offset{++sequence_};
    record.timestamp = since_1970<std::chrono::milliseconds>();
    record.payload = request.request.body;
    if (!request.key.empty()) record.key = request.key;
    if (!request.head) {
        request.head = std::make_shared<const HttpHeaders>(
            record_headers(std::move(request.request.headers), std::move(request.parameters)));
    }
    for (const auto& [name, value] : *request.head) record.headers.push_back({name, value});
    if (!request.tenant.empty()) record.headers.push_back({"onceward-tenant", request.tenant});
    return record;
}

bool SinkSession::decode(WaitingRequest& waiting) {
    const MessageKey key{waiting.request.digest, waiting.request.fingerprint, waiting.request.key,
                         waiting.request.minted_at};
    intake_.take(record_of(waiting.request), key, waiting.chunk);
    const Message& message = waiting.message();
    if (!message.rejection) return true;
    // Nothing was claimed for it, so that a corrected request passes under the same key.
    const bool unreadable = message.rejection->kind == Rejection::Kind::undecodable;
    // The reason names columns and quotes no values.
    log_info("http.rejected", {{"route", options_.name},
                               {"digest", hex(message.digest)},
                               {"error", message.rejection->reason}});
    waiting.outcome = Problem{.kind = ProblemKind::rejected,
                              .detail = unreadable ? message.rejection->reason
                                                   : "A value is missing, or is not of its type."};
    change(waiting.state, RequestEvent::decide);
    return false;
}

void SinkSession::give_up_overdue(std::vector<WaitingRequest*>& part) const {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(part, [&](WaitingRequest* waiting) {
        const bool waited = waiting->state == RequestState::held && waiting->held_until() <= now;
        if (!waited && waiting->deadline > now && !stop_.stop_requested()) return false;
        waiting->outcome = ask_again_soon();
        if (waited && !waiting->locked_out) {
            waiting->outcome = KeyedAnswer{.state = KeyState::in_flight};
        }
        change(waiting->state, RequestEvent::decide);
        return true;
    });
}

SinkSession::Step SinkSession::attempt(Parts& parts) try {
    session_.open();
    // Messages are made only now: a sink encodes by what it has read of its target.
    std::erase_if(parts.front(), [this](WaitingRequest* waiting) {
        return waiting->chunk.messages.empty() && !decode(*waiting);
    });
    if (parts.front().empty()) {
        parts.pop_front();
        return Step::next;
    }
    const bool held = parts.front().front()->state == RequestState::held;
    transaction_->limit_locks(held || limits_locks_ ? std::optional(patience_) : std::nullopt);
    if (searching_) return search(parts);
    const std::vector<RequestInBatch*> requests(parts.front().begin(), parts.front().end());
    if (transaction_->attempt(*session_, requests, patience_) == Settlement::again) {
        return Step::next;
    }
    for (WaitingRequest* waiting : parts.front()) change(waiting->state, RequestEvent::decide);
    parts.pop_front();
    failures_.ended();
    return Step::next;
} catch (const PostgresError& error) {
    return failed(error, parts);
} catch (const ResultMismatch& error) {
    return mismatched(error.what(), parts);
} catch (const SinkMismatch& error) {
    return stopped(error.what(), parts);
}

void SinkSession::set_up(Connection& connection) {
    // DANGER: register in each new session. A fail-over may have lost the registration, and its
    // number may belong to another ledger now: claims would go to a foreign ledger.
    const RegisteredLedger registered = register_requests(
        connection, options_.ledger, options_.service, options_.name, longest_request(options_));
    if (!claims_ || registered != registered_) {
        transaction_.reset();  // It borrows the stores.
        registered_ = registered;
        claims_ = make_claim_store(options_.ledger, registered, options_.log_windows);
        results_ = std::make_unique<ResultStore>(registered.ledger, registered.store,
                                                 options_.cache_bytes);
        std::optional<int> table;
        if (registered.store == StoreKind::table) table = registered.ledger;
        transaction_ = std::make_unique<SinkTransaction>(
            SinkTransaction::Parts{.claims = *claims_,
                                   .results = *results_,
                                   .sink = *intake_.sink,
                                   .context = {options_.service, options_.name},
                                   .limits = options_.limits,
                                   .table = table,
                                   .observer = options_.observer,
                                   .originals = options_.originals});
    }
    intake_.sink->prepare(connection);
}

}  // namespace onceward
