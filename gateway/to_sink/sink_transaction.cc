#include "gateway/to_sink/sink_transaction.h"

#include "dedup/claims/distinct_claims.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// Whatever way a transaction ends, its claims are under way no longer.
struct ClaimsEnding {
    ClaimStore& claims;
    ~ClaimsEnding() { claims.ended(); }
};

}  // namespace

// DANGER: keep these lines in this order: claims, rows, results, COMMIT. In any other order a crash
// or a second process applies a request twice, or answers one that was never applied.
Settlement SinkTransaction::attempt(Connection& connection,
                                    std::span<RequestInBatch* const> requests,
                                    std::chrono::milliseconds patience) {
    begin(connection);
    const ClaimsEnding ending{parts_.claims};
    OwnedTransaction transaction(connection, how());
    const auto sorted = sort(transaction, requests, patience);
    if (!sorted) return Settlement::again;
    const auto& [fresh, known] = *sorted;
    reached(parts_.observer, Step::after_claims);
    if (parts_.originals && !fresh.empty()) {
        std::vector<Digest> keys;
        for (const RequestInBatch* request : fresh) keys.push_back(request->request.digest);
        parts_.originals(keys);
    }
    write(transaction, fresh);
    reached(parts_.observer, Step::after_sink);
    if (parts_.claims.confirm(transaction) == Settlement::again) return Settlement::again;
    // DANGER: before settle(), which may take the ledger's lock: results may be large, and all of
    // its workers wait for the lock. What a neighbour was about to commit when the verdicts were
    // made is committed by now, with its results; what settle() finds is not a duplicate of this
    // attempt but ends it (see Processor::settle()).
    for (RequestInBatch* request : replay(transaction, known)) {
        request->outcome = Problem{.kind = ProblemKind::answer_gone};
    }
    if (parts_.claims.settle(transaction) == Settlement::again) return Settlement::again;
    if (parts_.results.settle(transaction) == Settlement::again) return Settlement::again;
    reached(parts_.observer, Step::before_commit);
    origin_ = Origin::sink;  // A deferred trigger of the user's table may still speak.
    transaction.commit([this] { parts_.claims.committing(); });
    origin_ = Origin::ours;
    parts_.claims.committed();
    parts_.results.committed();
    reached(parts_.observer, Step::after_commit);
    return Settlement::settled;
}

// DANGER: the keys are claimed first, as in an attempt; otherwise the sink could refuse a row only
// because another process has just written the row of the same key. All of it is rolled back, so
// that no refused key stays claimed.
std::optional<std::vector<Refusal>> SinkTransaction::search(
    Connection& connection, std::span<RequestInBatch* const> requests,
    std::chrono::milliseconds patience, RefusalSearch& search, int earlier) {
    begin(connection);
    const ClaimsEnding ending{parts_.claims};
    OwnedTransaction transaction(connection, how());
    const auto sorted = sort(transaction, requests, patience);
    if (!sorted) return std::nullopt;
    std::vector<const Message*> messages;
    for (const RequestInBatch* request : sorted->fresh) messages.push_back(&request->message());
    origin_ = Origin::sink;
    return search.run(transaction,
                      {.sink = parts_.sink,
                       .context = parts_.context,
                       .earlier = earlier,
                       .tried_again = true},
                      messages);
}

void SinkTransaction::begin(Connection& connection) {
    origin_ = Origin::ours;
    claiming_ = false;
    parts_.claims.catch_up(connection);
    parts_.results.begin();
    reached(parts_.observer, Step::before_begin);
}

OwnedTransaction::Begin SinkTransaction::how() const {
    return parts_.table ? OwnedTransaction::Begin::with_first : OwnedTransaction::Begin::now;
}

// Returns nullopt if a presumed claim did not hold.
std::optional<SinkTransaction::Claimed> SinkTransaction::sort(
    Transaction& transaction, std::span<RequestInBatch* const> requests,
    std::chrono::milliseconds patience) {
    std::vector<Message*> messages;
    for (RequestInBatch* request : requests) messages.push_back(&request->message());
    const DistinctClaims folded(messages);
    const auto answers = claim(transaction, folded.claims(), patience);
    if (!answers) return std::nullopt;
    const std::vector<std::optional<Verdict>> verdicts = folded.verdicts(*answers);
    Claimed sorted;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        switch (verdicts[i].value()) {
            case Verdict::fresh: sorted.fresh.push_back(requests[i]); break;
            case Verdict::duplicate: sorted.known.push_back(requests[i]); break;
            case Verdict::conflict:
                requests[i]->outcome = KeyedAnswer{.state = KeyState::conflict};
                break;
        }
    }
    return sorted;
}

std::optional<std::vector<ClaimAnswer>> SinkTransaction::claim(Transaction& transaction,
                                                               std::span<const Claim> claims,
                                                               std::chrono::milliseconds patience) {
    const auto limit = [](std::chrono::milliseconds wait) {
        return Parameters{}.text(std::to_string(wait.count()));
    };
    if (parts_.table) {
        // DANGER: take the ledger's lock before the short limit. A request that waits for a
        // rotation waits for no key, and must not hear that another process works on its key.
        const Parameters ledger = Parameters{}.integer(*parts_.table);
        const Parameters shortly = limit(patience);
        transaction.pipelined(
            {{sql::claims_lock_shared, ledger, {}}, {sql::retention_lock_timeout, shortly, {}}});
    }
    claiming_ = true;
    auto answers = parts_.claims.claim(transaction, parts_.context.topic, claims);
    claiming_ = false;
    if (parts_.table && answers) {
        transaction.prepared(sql::retention_lock_timeout,
                             limit(transaction.connection().options().lock_timeout));
    }
    return answers;
}

void SinkTransaction::write(Transaction& transaction, std::span<RequestInBatch* const> fresh) {
    if (fresh.empty()) return;
    std::vector<const Message*> messages;
    for (const RequestInBatch* request : fresh) messages.push_back(&request->message());
    origin_ = Origin::sink;
    parts_.sink.write(transaction, parts_.context, messages);
    std::vector<MessageResult> results = parts_.sink.take_results();
    if (!results.empty() && results.size() != fresh.size()) {
        throw SinkMismatch("the sink gave " + std::to_string(results.size()) + " results for " +
                           std::to_string(fresh.size()) + " requests");
    }
    results.resize(fresh.size());
    // What the sink deferred is checked, and nothing may cancel any longer.
    const Parameters none;
    transaction.pipelined({{sql::sink_constraints, none, {}}, {sql::sink_no_timeout, none, {}}});
    origin_ = Origin::ours;
    std::vector<ResultStore::Stored> stored;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        RequestInBatch& request = *fresh[i];
        // Too large ones go without their body: the configuration takes no other policy here.
        const MessageResult result =
            storable(std::move(results[i]), parts_.limits).value_or(MessageResult{});
        request.outcome = KeyedAnswer{.state = KeyState::fresh, .result = response_of(result)};
        stored.push_back({request.request.digest, request.request.tenant, result, request.attempt});
    }
    parts_.results.put(transaction, stored);
}

std::vector<RequestInBatch*> SinkTransaction::replay(Transaction& transaction,
                                                     std::span<RequestInBatch* const> known) {
    std::vector<RequestInBatch*> open;
    if (known.empty()) return open;
    std::vector<Digest> digests;
    for (const RequestInBatch* request : known) digests.push_back(request->request.digest);
    std::vector<std::optional<MessageResult>> found = parts_.results.get(transaction, digests);
    for (std::size_t i = 0; i < known.size(); ++i) {
        RequestInBatch& request = *known[i];
        if (!found[i]) {
            open.push_back(&request);
            continue;
        }
        KeyState state = KeyState::replayed;
        if (request.in_doubt) {
            // DANGER: a COMMIT of ours whose answer was lost took effect: this is the first answer
            // to its request.
            const auto mine = parts_.results.find(transaction, request.request.digest);
            if (mine && mine->attempt == request.attempt) state = KeyState::fresh;
        }
        request.outcome = KeyedAnswer{.state = state, .result = response_of(*found[i])};
    }
    return open;
}

}  // namespace onceward
