#include "dedup/processor.h"

#include <algorithm>

#include "dedup/base/expects.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// DANGER: a COMMIT without an answer is in doubt and stays so here: the caller that catches the
// error reconnects and takes the fence again. A mutant asks by SELECT instead.
void commit(OwnedTransaction& transaction, const Slice& slice,
            const std::function<void()>& meanwhile) {
    try {
        transaction.commit(meanwhile);
    } catch (const PostgresError& error) {
        const bool asks = mutant("select_to_resolve_a_lost_commit") && error.diagnosis().in_doubt &&
                          !slice.messages.empty();
        if (!asks ||
            !select_says_committed(transaction.connection(), slice.messages.front()->digest)) {
            throw;
        }
    }
}

}  // namespace

Processor::Processor(BatchContext context, RejectPolicy policy, Parts parts, Committed committed)
    : context_(std::move(context)),
      policy_(policy),
      parts_(parts),
      committed_(std::move(committed)),
      rejections_(policy),
      hot_keys_(policy.hot_key),
      log_(context_.topic),
      trace_(parts.tracer, context_.consumer_group, context_.topic),
      retries_(policy.retries, policy.retry_backoff) {
    // Stored results, and dead letters with the same record key, are read inside the transaction,
    // which one round trip cannot do.
    if (parts_.claims == nullptr || !parts_.claims->appends_as_new() ||
        parts_.answers != nullptr || policy_.order == RejectPolicy::Order::by_key) {
        return;
    }
    at_once_.emplace(AtOnce::Parts{.fences = parts_.fences,
                                   .claims = *parts_.claims,
                                   .sink = parts_.sink,
                                   .reached = [this](Step step) { reached(step); }});
}

void Processor::start(Batch batch) {
    expects(idle(), "a batch is started after the one before it has ended");
    trace_.end();
    batch_ = std::move(batch);
    finished_.release();
    searching_ = false;
    failing_slices_ = 0;
    if (batch_.empty()) return;
    trace_.begin(batch_);
    pending_.push_back(whole(batch_));
    if (policy_.retries > 0) set_apart_waiting();
    cut_to_size();
}

// What was refused alone before is tried alone again: it need not be searched for.
void Processor::set_apart_waiting() {
    Slice rest = std::move(pending_.back());
    pending_.pop_back();
    const auto waited = [&](const Message* message) {
        return retries_.tried(message->record.partition, message->record.offset) > 0;
    };
    while (std::ranges::any_of(rest.messages, waited)) {
        const auto first = std::ranges::find_if(rest.messages, waited);
        const auto before = static_cast<std::size_t>(first - rest.messages.begin());
        const std::size_t at = before > 0 ? before : 1;
        if (rest.messages.size() <= at) break;
        Halves parts = cut(rest, at);
        pending_.push_back(std::move(parts.first));
        rest = std::move(parts.second);
    }
    pending_.push_back(std::move(rest));
}

void Processor::abandon() {
    pending_.clear();
    trace_.end();
    batch_ = {};
}

void Processor::abandon(const std::set<Partition>& partitions) {
    if (partitions.empty()) return;
    for (Slice& slice : pending_) {
        std::erase_if(slice.messages, [&](const Message* message) {
            return partitions.contains(message->record.partition);
        });
        std::erase_if(slice.spans, [&](const Span& s) { return partitions.contains(s.partition); });
    }
    std::erase_if(pending_, [](const Slice& slice) { return slice.spans.empty(); });
}

std::set<Partition> Processor::run(Connection& connection) {
    std::set<Partition> all_missed;
    while (!pending_.empty()) {
        if (parts_.overdue) abandon(parts_.overdue());
        if (pending_.empty()) break;
        std::set<Partition> missed;
        switch (try_front(connection, missed)) {
            case Attempt::committed: pending_.pop_front(); break;
            case Attempt::missed:
                abandon(missed);
                all_missed.insert(missed.begin(), missed.end());
                break;
            case Attempt::cut: put_back(cut(take_front(), cut_at_)); break;
            case Attempt::again: break;
            case Attempt::searched: refuse(connection); break;
        }
    }
    trace_.end();
    batch_ = {};
    return all_missed;
}

// A failure that does not leave this function was dealt with: pending_ is tried again.
Processor::Attempt Processor::try_front(Connection& connection, std::set<Partition>& missed) try {
    const HotMarks marks(hot_keys_, pending_.front(), since_1970<HotKeys::Time>());
    return attempt(connection, pending_.front(), missed);
} catch (const PostgresError& error) {
    trace_.failed(error.sqlstate());
    failed(error, connection);
    return Attempt::again;
} catch (const ResultMismatch&) {
    if (!begin_search()) throw;
    return Attempt::again;
}

// DANGER: keep these lines in this order: fences, claims, rows, fences moved, COMMIT, offsets. In
// any other order a crash or a second worker loses a message, or applies one twice.
Processor::Attempt Processor::attempt(Connection& connection, const Slice& slice,
                                      std::set<Partition>& missed) {
    origin_ = Origin::ours;
    const auto begun = std::chrono::steady_clock::now();
    if (parts_.claims != nullptr) parts_.claims->catch_up(connection);
    if (const auto sorted = land_at_once(connection, slice)) {
        landed(connection, slice, *sorted, begun);
        return Attempt::committed;
    }
    if (parts_.answers != nullptr) parts_.answers->begin();
    reached(Step::before_begin);
    const Ending ending(parts_.claims);
    OwnedTransaction transaction(connection, OwnedTransaction::Begin::with_first);
    std::optional<DistinctClaims> folded;
    const auto fold = [&] {
        if (parts_.claims != nullptr) folded.emplace(slice.messages);
    };
    const auto not_mine = parts_.fences.hold(transaction, context_.topic, slice.spans, fold);
    missed.insert(not_mine.begin(), not_mine.end());
    // DANGER: if a partition's fence is another worker's, or has another offset, the whole
    // transaction must be rolled back.
    if (!missed.empty()) return Attempt::missed;
    reached(Step::after_fence);

    SliceOutcomes sorted = sort_out(transaction, slice, folded ? &*folded : nullptr);
    if (sorted.again) return Attempt::again;
    if (sorted.cut_at) {
        cut_at_ = *sorted.cut_at;
        return Attempt::cut;
    }
    if (halts_later(slice)) return Attempt::cut;
    check_cap(slice, sorted);
    reached(Step::after_claims);

    if (searching_) {
        search(transaction, sorted);
        return Attempt::searched;
    }
    write(transaction, sorted);
    reached(Step::after_sink);

    if (!advance(transaction, sorted)) {
        for (const FenceMove& move : sorted.moves) missed.insert(move.span.partition);
        return Attempt::missed;
    }
    if (settle(transaction) == Settlement::again) return Attempt::again;
    reached(Step::before_commit);
    origin_ = Origin::sink;  // A deferred trigger of the user's table may still fail.
    if (mutant("offset_before_commit")) committed_(sorted.moves);
    commit(transaction, slice, [&] {
        if (parts_.claims != nullptr) parts_.claims->committing();
    });

    origin_ = Origin::ours;
    if (parts_.claims != nullptr) parts_.claims->committed();
    if (parts_.answers != nullptr) parts_.answers->committed();
    landed(connection, slice, sorted, begun);
    return Attempt::committed;
}

std::optional<SliceOutcomes> Processor::land_at_once(Connection& connection, const Slice& slice) {
    if (!at_once_ || searching_) return std::nullopt;
    return at_once_->land(connection, context_, slice, [&] {
        KeyOrder none;
        return sort_slice(slice, std::vector(slice.messages.size(), std::optional(Verdict::fresh)),
                          policy_, none, {});
    });
}

// COMMIT was answered.
void Processor::landed(Connection& connection, const Slice& slice, const SliceOutcomes& sorted,
                       std::chrono::steady_clock::time_point begun) {
    // Only a commit ends a row of failures: after a reconnect the same work may come as another
    // batch.
    failures_.ended();
    rejections_.record(RejectionWindow::Clock::now(),
                       static_cast<std::int64_t>(slice.messages.size()), sorted.at_fault());
    hot_keys_.passed(slice, since_1970<HotKeys::Time>());
    took(slice.messages.size(), std::chrono::steady_clock::now() - begun,
         connection.options().statement_timeout);
    log_.tell(sorted);
    reached(Step::after_commit);
    if (trace_.has_messages()) trace_ends(slice, sorted);
    if (parts_.aged) {
        parts_.aged(ages_of(slice.messages, since_1970<std::chrono::milliseconds>(),
                            [](const Message* message) { return message->record.timestamp; }));
    }
    for (const FenceMove& move : sorted.moves) {
        retries_.passed(move.span.partition, move.span.end);
    }
    if (!mutant("offset_before_commit")) committed_(sorted.moves);
}

// DANGER: read stored results before settle(), because all workers of a log's ledger wait for the
// lock that settle() takes: results may be large, and their reader may freeze. Nothing is missed.
// The claim of a duplicate was committed when it was looked up, or a neighbour was about to commit
// it and confirm() has waited for that. A result is in the transaction of its claim, so a statement
// that begins now sees both. What settle() finds under the lock makes no duplicate of this attempt:
// news about one of its keys, or an eviction, ends the attempt, and the next one reads again.
Settlement Processor::settle(Transaction& transaction) {
    ClaimStore* const claims = parts_.claims;
    if (claims != nullptr && claims->confirm(transaction) == Settlement::again) {
        return Settlement::again;
    }
    if (parts_.answers != nullptr &&
        parts_.answers->replay_rest(transaction) == Settlement::again) {
        return Settlement::again;
    }
    if (claims != nullptr && claims->settle(transaction) == Settlement::again) {
        return Settlement::again;
    }
    return parts_.answers != nullptr ? parts_.answers->settle(transaction) : Settlement::settled;
}

// All are in the slice's order, so that one pass finds each message's outcome.
void Processor::trace_ends(const Slice& slice, const SliceOutcomes& sorted) {
    auto fresh = sorted.fresh.begin();
    auto conflict = sorted.conflicts.begin();
    for (const Message* message : slice.messages) {
        const bool applied = fresh != sorted.fresh.end() && *fresh == message;
        if (applied) ++fresh;
        const bool conflicts = conflict != sorted.conflicts.end() && *conflict == message;
        if (conflicts) ++conflict;
        if (message->trace == nullptr) continue;
        trace_.ended(*message, applied              ? "applied"
                               : conflicts          ? "conflict"
                               : message->rejection ? "dead_lettered"
                               : message->skipped   ? "skipped"
                                                    : "duplicate");
    }
}

SliceOutcomes Processor::sort_out(Transaction& transaction, const Slice& slice,
                                  const DistinctClaims* folded) {
    const FinishMessage finish = [this](Message& message) { parts_.finish(message, finished_); };
    KeyOrder order;
    const auto sort = [&](std::span<const std::optional<Verdict>> verdicts) {
        if (policy_.order == RejectPolicy::Order::by_key) {
            order.look(transaction, context_, slice.messages);
        }
        return sort_slice(slice, verdicts, policy_, order, finish);
    };
    if (folded == nullptr) {
        return sort(std::vector(slice.messages.size(), std::optional(Verdict::fresh)));
    }
    const auto answers = parts_.claims->claim(transaction, folded->claims());
    if (!answers) {
        SliceOutcomes none(slice.spans);
        none.again = true;
        return none;
    }
    if (const auto at = folded->judged_apart(*answers)) {
        SliceOutcomes none(slice.spans);
        none.cut_at = at;
        return none;
    }
    const std::vector<std::optional<Verdict>> verdicts = folded->verdicts(*answers);
    SliceOutcomes sorted = sort(verdicts);
    for (std::size_t i = 0; parts_.answers != nullptr && i < verdicts.size(); ++i) {
        if (verdicts[i] == Verdict::duplicate) sorted.duplicates.push_back(slice.messages[i]);
    }
    tell_conflicts(sorted, *folded, *answers, context_);
    return sorted;
}

// Returns true if the messages before the one that halts the topic must land first, so that the
// fence is at the message that the operator must examine.
bool Processor::halts_later(const Slice& slice) {
    const std::optional<std::size_t> at = halts_at(slice, policy_);
    if (!at) return false;
    if (*at > 0) {
        cut_at_ = *at;
        return true;
    }
    const Message& first = *slice.messages.front();
    throw TopicHalted(first.record, *first.rejection);
}

void Processor::check_cap(const Slice& slice, const SliceOutcomes& sorted) {
    if (!rejections_.would_exceed(RejectionWindow::Clock::now(),
                                  static_cast<std::int64_t>(slice.messages.size()),
                                  sorted.at_fault())) {
        return;
    }
    const Message& first = *sorted.rejected.front();
    throw TopicHalted(first.record,
                      "the share of rejected messages is above the topic's cap; the first one: " +
                          describe(*first.rejection));
}

// The ledger is asked for the places of earlier claims only here, for messages that surely go to
// the dead letters.
void Processor::find_places(Transaction& transaction, SliceOutcomes& sorted) {
    std::vector<Claim> claims;
    std::vector<EarlierClaim*> asking;
    auto earlier = sorted.earlier.begin();
    for (const Message* message : sorted.conflicts) {
        if (!message->rejection) continue;
        EarlierClaim& met = *earlier++;
        if (!met.places.empty()) continue;
        claims.push_back({message->digest, message->fingerprint, message->record.partition,
                          message->record.offset});
        asking.push_back(&met);
    }
    if (claims.empty()) return;
    std::vector<std::vector<ClaimPlace>> places = parts_.claims->places(transaction, claims);
    if (places.empty()) return;
    for (std::size_t i = 0; i < asking.size(); ++i) asking[i]->places = std::move(places[i]);
}

void Processor::write(Transaction& transaction, SliceOutcomes& sorted) {
    origin_ = Origin::sink;
    if (!sorted.fresh.empty()) parts_.sink.write(transaction, context_, sorted.fresh);
    if (parts_.answers != nullptr) parts_.answers->take(parts_.sink, sorted.fresh);
    origin_ = Origin::ours;
    if (parts_.answers != nullptr) {
        parts_.answers->store(transaction, sorted.fresh, sorted.duplicates);
    }
    if (sorted.rejected.empty()) return;
    find_places(transaction, sorted);
    parts_.dead_letters.write(transaction, context_, sorted.rejected);
}

// What the sink deferred is checked in the same round trip, before the fence moves.
bool Processor::advance(Transaction& transaction, const SliceOutcomes& sorted) {
    origin_ = Origin::sink;
    try {
        const std::size_t moved = parts_.fences.advance(transaction, context_.topic, sorted.moves,
                                                        {{sql::sink_constraints}});
        origin_ = Origin::ours;
        return moved == sorted.moves.size();
    } catch (const PostgresError& error) {
        if (error.diagnosis().statement > 0) origin_ = Origin::ours;
        throw;
    }
}

}  // namespace onceward
