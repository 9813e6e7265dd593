#include "gateway/to_sink/sink_transaction.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dedup/claims/distinct_claims.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::size_t most_at_once = 256;
// More than these are written at once only if the last batch of more than these had no request that
// is known or refused, and no batch has had one since. Otherwise many would often be written twice.
constexpr std::size_t most_untried = 32;
// A request with a key that another one has just claimed gets the answer "in flight" only after the
// round trip. So each of its statements is limited, and the sink's also together.
constexpr std::chrono::milliseconds longest_statement{200};
constexpr std::chrono::milliseconds longest_rows{400};

std::chrono::milliseconds limit_of_each(std::size_t statements) {
    const auto share = longest_rows / static_cast<int>(std::max<std::size_t>(statements, 1));
    return std::clamp(share, std::chrono::milliseconds(1), longest_statement);
}

// `Pointer`: Message* for claims, const Message* for sinks.
template <class Pointer>
std::vector<Pointer> messages_of(std::span<RequestInBatch* const> requests) {
    std::vector<Pointer> messages;
    messages.reserve(requests.size());
    for (RequestInBatch* request : requests) messages.push_back(&request->message());
    return messages;
}

void ask_now(std::span<RequestInBatch* const> requests) {
    const auto now = std::chrono::steady_clock::now();
    for (RequestInBatch* request : requests) request->as_of = now;
}

}  // namespace

Settlement SinkTransaction::attempt(Connection& connection,
                                    std::span<RequestInBatch* const> requests,
                                    std::chrono::milliseconds patience) {
    const bool many = std::exchange(many_were_new_, false);
    const bool whole = !std::exchange(is_rest_, false);
    const auto all_new = [&] {
        many_were_new_ = whole && (many || requests.size() > most_untried);
    };
    if (may_be_at_once(requests) && presumption_.presumes_new() &&
        requests.size() <= (many ? most_at_once : most_untried) &&
        land_at_once(connection, requests, patience)) {
        all_new();
        return Settlement::settled;
    }
    UnfencedTransaction unfenced = begin(connection, requests);
    const auto sorted = sort(unfenced, requests, patience);
    if (!sorted) return Settlement::again;
    const auto& [fresh, known] = *sorted;
    if (!fresh.empty()) {
        if (parts_.originals) {
            std::vector<Digest> keys;
            for (const RequestInBatch* request : fresh) keys.push_back(request->request.digest);
            parts_.originals(keys);
        }
        unfenced.apply([&](Transaction& transaction) { return write(transaction, fresh); });
    }
    ask_now(requests);
    const Settlement settlement =
        unfenced.land([&](Transaction& transaction) { replay(transaction, known); });
    if (settlement == Settlement::settled && fresh.size() == requests.size()) all_new();
    return settlement;
}

// Not with a log, which decides at its end. A request that is in doubt may be its own duplicate. A
// key that is probably known would fail here, and the next batches would then be processed step by
// step too.
bool SinkTransaction::may_be_at_once(std::span<RequestInBatch* const> requests) const {
    return parts_.table && std::ranges::none_of(requests, [](const RequestInBatch* request) {
               return request->in_doubt || request->is_known;
           });
}

bool SinkTransaction::land_at_once(Connection& connection,
                                   std::span<RequestInBatch* const> requests,
                                   std::chrono::milliseconds patience) try {
    const auto messages = messages_of<const Message*>(requests);
    auto rows = parts_.sink.at_once(parts_.context, messages);
    if (!rows) return false;
    UnfencedTransaction unfenced = begin(connection, requests);
    const auto limit =
        std::min(limit_of_each(rows->size()), connection.options().statement_timeout);
    auto statements = statements_at_once(requests, std::move(*rows), patience, limit);
    if (!statements) return false;
    unfenced.land_at_once(std::move(*statements));
    presumption_.was_right();
    return true;
} catch (const PostgresError& error) {
    // DANGER: a lost session is in doubt. The step by step transaction must not run as if nothing
    // had landed.
    if (error.diagnosis().connection_lost) throw;
    // The same requests are processed step by step next. That meets the same failure if it is not
    // about the keys.
    presumption_.was_wrong();
    return false;
}

std::optional<std::vector<Connection::Planned>> SinkTransaction::statements_at_once(
    std::span<RequestInBatch* const> requests, std::vector<SinkStatement> rows,
    std::chrono::milliseconds patience, std::chrono::milliseconds limit) {
    const auto messages = messages_of<Message*>(requests);
    const DistinctClaims folded(messages);
    auto claims = parts_.claims.claim_as_new(folded.claims());
    if (!claims) return std::nullopt;
    auto results = parts_.results.put_as_new(claims->generation, answer(requests, {}));
    if (!results) return std::nullopt;
    // Only the step by step transaction tells waiting requests that their key is worked on, so
    // nothing here may take long.
    std::vector<Connection::Planned> all{
        {sql::claims_lock_shortly,
         {*parts_.table, std::to_string(patience.count()), std::to_string(limit.count())}}};
    for (auto* more : {&claims->statements, &rows}) {
        all.insert(all.end(), std::move_iterator(more->begin()), std::move_iterator(more->end()));
    }
    all.push_back(std::move(*results));
    return all;
}

// DANGER: the keys are claimed first, as in an attempt; otherwise the sink could refuse a row only
// because another process has just written the row of the same key. All of it is rolled back, so
// that no refused key stays claimed.
std::optional<std::vector<Refusal>> SinkTransaction::search(
    Connection& connection, std::span<RequestInBatch* const> requests,
    std::chrono::milliseconds patience, RefusalSearch& search, int earlier) {
    UnfencedTransaction unfenced = begin(connection, requests);
    const auto sorted = sort(unfenced, requests, patience);
    if (!sorted) return std::nullopt;
    const auto messages = messages_of<const Message*>(sorted->fresh);
    origin_ = Origin::sink;
    std::vector<Refusal> refusals = search.run(
        unfenced.transaction(),
        {.sink = parts_.sink, .context = parts_.context, .earlier = earlier, .tried_again = true},
        messages);
    if (!refusals.empty()) {
        many_were_new_ = false;
        is_rest_ = true;
    }
    return refusals;
}

UnfencedTransaction SinkTransaction::begin(Connection& connection,
                                           std::span<RequestInBatch* const> requests) {
    claiming_ = false;
    ask_now(requests);
    return {connection,
            {.claims = parts_.claims,
             .origin = origin_,
             .results = &parts_.results,
             .observer = parts_.observer},
            parts_.table ? OwnedTransaction::Begin::with_first : OwnedTransaction::Begin::now};
}

// Returns nullopt if a presumed claim did not hold.
std::optional<SinkTransaction::Claimed> SinkTransaction::sort(
    UnfencedTransaction& unfenced, std::span<RequestInBatch* const> requests,
    std::chrono::milliseconds patience) {
    const auto messages = messages_of<Message*>(requests);
    const DistinctClaims folded(messages);
    const auto answers = claim(unfenced, folded.claims(), patience);
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
            case Verdict::late:
            case Verdict::early: requests[i]->outcome = problem_of(*verdicts[i]); break;
        }
    }
    return sorted;
}

std::optional<std::vector<ClaimAnswer>> SinkTransaction::claim(UnfencedTransaction& unfenced,
                                                               std::span<const Claim> claims,
                                                               std::chrono::milliseconds patience) {
    Transaction& transaction = unfenced.transaction();
    const auto limit = [](std::chrono::milliseconds wait) {
        return Parameters{std::to_string(wait.count())};
    };
    if (parts_.table) {
        // DANGER: take the ledger's lock before the short limit. A request that waits for a
        // rotation waits for no key, and must not hear that another process works on its key.
        const Parameters ledger{*parts_.table};
        const Parameters shortly = limit(patience);
        transaction.pipelined(
            {{sql::claims_lock_shared, ledger, {}}, {sql::retention_lock_timeout, shortly, {}}});
    }
    claiming_ = true;
    auto answers = unfenced.claim(claims);
    claiming_ = false;
    if (answers && (parts_.table || lock_wait_)) {
        const auto usual = transaction.connection().options().lock_timeout;
        transaction.prepared(sql::retention_lock_timeout, limit(lock_wait_.value_or(usual)));
    }
    return answers;
}

std::vector<ResultStore::Stored> SinkTransaction::write(Transaction& transaction,
                                                        std::span<RequestInBatch* const> fresh) {
    const auto messages = messages_of<const Message*>(fresh);
    parts_.sink.write(transaction, parts_.context, messages);
    std::vector<MessageResult> results = parts_.sink.take_results();
    if (!results.empty() && results.size() != fresh.size()) {
        throw SinkMismatch("the sink gave " + std::to_string(results.size()) + " results for " +
                           std::to_string(fresh.size()) + " requests");
    }
    return answer(fresh, std::move(results));
}

std::vector<ResultStore::Stored> SinkTransaction::answer(std::span<RequestInBatch* const> fresh,
                                                         std::vector<MessageResult> results) const {
    results.resize(fresh.size());
    std::vector<ResultStore::Stored> stored;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        RequestInBatch& request = *fresh[i];
        // A result that is too large loses its body: the configuration allows no other policy here.
        const MessageResult result =
            storable(std::move(results[i]), parts_.limits).value_or(MessageResult{});
        request.outcome = KeyedAnswer{.state = KeyState::fresh, .result = response_of(result)};
        stored.push_back({request.request.digest, request.request.tenant, result, request.attempt});
    }
    return stored;
}

void SinkTransaction::replay(Transaction& transaction, std::span<RequestInBatch* const> known) {
    if (known.empty()) return;
    std::vector<Digest> digests;
    for (const RequestInBatch* request : known) digests.push_back(request->request.digest);
    std::vector<std::optional<MessageResult>> found = parts_.results.get(transaction, digests);
    for (std::size_t i = 0; i < known.size(); ++i) {
        RequestInBatch& request = *known[i];
        if (!found[i]) {
            request.outcome = Problem{.kind = ProblemKind::answer_gone};
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
}

}  // namespace onceward
