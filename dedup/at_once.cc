#include "dedup/at_once.h"

#include <algorithm>
#include <string>

#include "dedup/base/mutants.h"
#include "dedup/claims/distinct_claims.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// Whether the steps would only meet the same failure again. Statements are prepared before the
// first is sent, and wait for locked tables as long as the session's own limits allow.
bool is_final(const PostgresError& error) {
    const std::string& code = error.sqlstate();
    const bool prepared_too_long =
        error.diagnosis().statement == 0 &&
        (code == sqlstate::lock_not_available || code == sqlstate::query_canceled);
    return code == sqlstate::deadlock_detected || prepared_too_long;
}

// The shorter one of the user's limit and ours; 0 means that the user has none.
std::string at_most(std::chrono::milliseconds own) {
    const auto longest = AtOnce::longest_statement;
    return std::to_string((own.count() == 0 ? longest : std::min(own, longest)).count());
}

// A deferred message is not decoded before it is known to be fresh.
bool undecided(const Message* message) {
    return message->rejection || message->skipped || message->deferred;
}

bool is_small(const Slice& slice) {
    if (slice.messages.empty() || slice.messages.size() > AtOnce::most_messages) return false;
    std::size_t bytes = 0;
    for (const Message* message : slice.messages) bytes += message->encoded.size();
    return bytes <= AtOnce::most_bytes;
}

// These mutants change the steps alone.
bool mutant_needs_steps() { return mutant("start_from_memory") || mutant("offset_before_commit"); }

void append(std::vector<Connection::Planned>& all, std::vector<Connection::Planned> more) {
    std::ranges::move(more, std::back_inserter(all));
}

}  // namespace

std::optional<SliceOutcomes> AtOnce::land(Connection& connection, const BatchContext& context,
                                          const Slice& slice, const SortFresh& sort) {
    if (!is_small(slice) || std::ranges::any_of(slice.messages, undecided) ||
        mutant_needs_steps() || !presumption_.presumes_new()) {
        return std::nullopt;
    }
    const Ending ending(&parts_.claims);
    SliceOutcomes sorted = sort();
    try {
        const auto planned = plan(connection.options(), context, slice, sorted);
        if (!planned) return std::nullopt;
        run(connection, *planned);
    } catch (const PostgresError& error) {
        // DANGER: a lost session is in doubt. The slice must not be processed as if nothing had
        // landed: its fence has to be taken first.
        if (error.diagnosis().connection_lost) throw;
        presumption_.was_wrong();
        if (is_final(error)) throw;
        // The steps meet an error of the sink again, and know that it is the sink's.
        return std::nullopt;
    }
    presumption_.was_right();
    return sorted;
}

// DANGER: the fence comes first, and the ledger's lock after the rows, as in Processor::attempt().
// A session that held the ledger's lock and then waited for a row could deadlock with the writer
// of that row. Several fences are not locked in one order here. A wait for one ends after 200 ms,
// before PostgreSQL looks for deadlocks.
std::optional<AtOnce::Plan> AtOnce::plan(const ConnectionOptions& limits,
                                         const BatchContext& context, const Slice& slice,
                                         const SliceOutcomes& sorted) {
    const DistinctClaims folded(slice.messages);
    // One of them may be a duplicate of another.
    if (sorted.fresh.size() != slice.messages.size() ||
        folded.claims().size() != slice.messages.size()) {
        return std::nullopt;
    }
    auto claims = parts_.claims.append_as_new(folded.claims());
    if (!claims) return std::nullopt;
    auto rows = parts_.sink.at_once(context, sorted.fresh);
    if (!rows) {
        // The sink will have no statements for the next batches either.
        presumption_.was_wrong();
        return std::nullopt;
    }
    Plan made{.statements = {}, .claiming = claims->size()};
    std::vector<Connection::Planned>& all = made.statements;
    all.push_back({sql::transaction_limits,
                   {at_most(limits.lock_timeout), at_most(limits.statement_timeout)},
                   {}});
    all.push_back(parts_.fences.at_once(context.topic, sorted.moves));
    append(all, std::move(*rows));
    all.push_back({sql::sink_constraints, {}, {}});
    all.push_back({sql::no_limits, {}, {}});
    append(all, std::move(*claims));
    return made;
}

void AtOnce::run(Connection& connection, const Plan& plan) {
    OwnedTransaction transaction(connection, OwnedTransaction::Begin::with_first);
    parts_.reached(Step::before_begin);
    const std::vector<QueryResult> results = transaction.run_whole(plan.statements, [this] {
        // The server passes these steps while this process waits for it.
        for (const Step step :
             {Step::after_fence, Step::after_claims, Step::after_sink, Step::before_commit}) {
            parts_.reached(step);
        }
        parts_.reached(Step::sent_whole);
        parts_.claims.committing();
    });
    parts_.claims.appended_as_new(std::span(results).last(plan.claiming));
    parts_.claims.committed();
}

}  // namespace onceward
