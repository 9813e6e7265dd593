#include "dedup/processor.h"

#include <algorithm>

#include "dedup/key_order.h"
#include "dedup/log.h"
#include "dedup/mutants.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

Partition partition_of(const FenceMove& move) { return move.span.partition; }

// Whatever way a transaction ends, its claims are under way no longer.
struct Ending {
    ClaimStore* claims;
    ~Ending() {
        if (claims != nullptr) claims->ended();
    }
};

// DANGER: a COMMIT without an answer is in doubt and stays so here: whoever catches it reconnects
// and takes the fence again. A mutant asks by SELECT instead.
void commit(OwnedTransaction& transaction, [[maybe_unused]] const Slice& slice,
            const std::function<void()>& meanwhile) {
    if constexpr (mutants_built) {
        try {
            return transaction.commit(meanwhile);
        } catch (const PostgresError& error) {
            const bool asks = mutant(Mutant::select_to_resolve_a_lost_commit) &&
                              error.diagnosis().in_doubt && !slice.messages.empty();
            if (!asks ||
                !select_says_committed(transaction.connection(), slice.messages.front()->digest)) {
                throw;
            }
        }
    } else {
        transaction.commit(meanwhile);
    }
}

}  // namespace

// What one transaction does with each message of its slice.
struct Processor::Sorted {
    std::vector<const Message*> fresh;
    std::vector<const Message*> rejected;
    std::vector<Message*> conflicts;  // rejected in this attempt only
    std::vector<FenceMove> moves;
    std::int64_t behind = 0;  // of the rejected: followers of another, and no fault of their own
    bool again = false;       // a presumption or an order of keys did not hold: claim anew
    Sorted() = default;
    Sorted(Sorted&&) = default;  // Never copied: the copy's end would take back the verdicts.
    ~Sorted() {
        // A verdict holds for one attempt: the next one asks the ledger anew.
        for (Message* message : conflicts) message->rejection.reset();
    }
};

Processor::Processor(BatchContext context, RejectPolicy policy, Parts parts, Committed committed)
    : context_(std::move(context)),
      policy_(policy),
      parts_(parts),
      committed_(std::move(committed)),
      rejections_(policy),
      retries_(policy.retries, policy.retry_backoff) {}

void Processor::start(Batch batch) {
    if (!idle()) throw std::logic_error("a batch was started while another was open");
    batch_ = std::move(batch);
    finished_.release();
    failing_slices_ = 0;
    if (batch_.empty()) return;
    pending_.push_back(whole(batch_));
    if (policy_.retries > 0) set_apart_waiting();
}

// What was refused alone before is tried alone again: nothing has to be halved for it.
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
    batch_ = {};
}

void Processor::abandon(const std::set<Partition>& partitions) {
    if (partitions.empty()) return;
    for (Slice& slice : pending_) remove(slice, partitions);
    std::erase_if(pending_, [](const Slice& slice) { return slice.spans.empty(); });
}

void Processor::remove(Slice& slice, const std::set<Partition>& partitions) const {
    std::erase_if(slice.messages, [&](const Message* message) {
        return partitions.contains(message->record.partition);
    });
    std::erase_if(slice.spans, [&](const Span& s) { return partitions.contains(s.partition); });
}

std::optional<std::pair<Partition, Offset>> Processor::position() const {
    if (pending_.empty() || pending_.front().messages.empty()) return std::nullopt;
    const Record& record = pending_.front().messages.front()->record;
    return std::pair{record.partition, record.offset};
}

std::set<Partition> Processor::run(Connection& connection) {
    std::set<Partition> all_missed;
    while (!pending_.empty()) {
        if (parts_.overdue) abandon(parts_.overdue());
        if (pending_.empty()) break;
        std::set<Partition> missed;
        try {
            switch (attempt(connection, pending_.front(), missed)) {
                case Attempt::committed: pending_.pop_front(); break;
                case Attempt::missed:
                    abandon(missed);
                    all_missed.insert(missed.begin(), missed.end());
                    break;
                case Attempt::again: break;
            }
        } catch (const PostgresError& error) {
            repeated_ = error.sqlstate() == last_sqlstate_ ? repeated_ + 1 : 0;
            last_sqlstate_ = error.sqlstate();
            const FailureAction action = classify(error.diagnosis(), origin_, repeated_);
            if (action == FailureAction::retry && too_slow(error)) continue;
            if (action != FailureAction::reject) throw ProcessingError(error, action);
            if (met_a_duplicate(connection)) continue;
            split(error);
        }
    }
    batch_ = {};
    return all_missed;
}

// The lines of this function are in the only order that loses nothing.
Processor::Attempt Processor::attempt(Connection& connection, const Slice& slice,
                                      std::set<Partition>& missed) {
    origin_ = Origin::ours;
    if (parts_.claims != nullptr) parts_.claims->catch_up(connection);
    reached(parts_.observer, Step::before_begin);
    const Ending ending{parts_.claims};
    OwnedTransaction transaction(connection, OwnedTransaction::Begin::with_first);
    std::optional<FoldedClaims> folded;
    const auto fold = [&] {
        if (parts_.claims != nullptr) folded.emplace(slice.messages);
    };
    const auto not_mine = parts_.fences.hold(transaction, context_.topic, slice.spans, fold);
    missed.insert(not_mine.begin(), not_mine.end());
    // DANGER: a partition whose fence is another's, or stands elsewhere, must take the whole
    // transaction with it.
    if (!missed.empty()) return Attempt::missed;
    reached(parts_.observer, Step::after_fence);

    const Sorted sorted = sort_out(transaction, slice, folded ? &*folded : nullptr);
    if (sorted.again) return Attempt::again;
    check_policy(slice, sorted);
    reached(parts_.observer, Step::after_claims);

    write(transaction, sorted);
    reached(parts_.observer, Step::after_sink);

    if (!advance(transaction, sorted)) {
        for (const FenceMove& move : sorted.moves) missed.insert(move.span.partition);
        return Attempt::missed;
    }
    if (parts_.claims != nullptr && parts_.claims->settle(transaction) == Settlement::again) {
        return Attempt::again;
    }
    reached(parts_.observer, Step::before_commit);
    origin_ = Origin::sink;  // A deferred trigger of the user's table may still speak.
    if (mutant(Mutant::offset_before_commit)) committed_(sorted.moves);
    commit(transaction, slice, [&] {
        if (parts_.claims != nullptr) parts_.claims->committing();
    });

    origin_ = Origin::ours;
    // Only a commit ends a row of failures: after a reconnect the same work may come as another
    // batch.
    repeated_ = 0;
    last_sqlstate_.clear();
    if (parts_.claims != nullptr) parts_.claims->committed();
    rejections_.record(RejectionWindow::Clock::now(),
                       static_cast<std::int64_t>(slice.messages.size()),
                       static_cast<std::int64_t>(sorted.rejected.size()) - sorted.behind);
    if (sorted.behind > 0) {
        log_warning("messages.behind", {{"topic", context_.topic}, {"messages", sorted.behind}});
    }
    reached(parts_.observer, Step::after_commit);
    for (const FenceMove& move : sorted.moves) {
        retries_.passed(move.span.partition, move.span.end);
    }
    if (!mutant(Mutant::offset_before_commit)) committed_(sorted.moves);
    return Attempt::committed;
}

Processor::Sorted Processor::sort_out(Transaction& transaction, const Slice& slice,
                                      const FoldedClaims* folded) {
    Sorted sorted;
    for (const Span& span : slice.spans) sorted.moves.push_back({span, {}});
    std::vector<std::optional<Verdict>> verdicts;
    if (folded != nullptr) {
        const auto answers = parts_.claims->claim(transaction, context_.topic, folded->claims());
        if (!answers) {
            sorted.again = true;
            return sorted;
        }
        verdicts = folded->verdicts(*answers);
    } else {
        verdicts.assign(slice.messages.size(), Verdict::fresh);
    }
    const bool by_key = policy_.order == RejectPolicy::Order::by_key;
    KeyOrder order;
    if (by_key) order.look(transaction, context_, slice.messages);
    Totals* totals = nullptr;
    std::optional<Partition> partition;
    for (std::size_t i = 0; i < slice.messages.size(); ++i) {
        Message& message = *slice.messages[i];
        if (partition != message.record.partition) {
            partition = message.record.partition;
            totals = &std::ranges::find(sorted.moves, *partition, partition_of)->totals;
        }
        if (stood_behind(message, order)) {
            sorted.again = true;
            continue;
        }
        if (message.rejection) {
            sorted.rejected.push_back(&message);
            if (message.rejection->kind == Rejection::Kind::behind) ++sorted.behind;
            order.rejected(message);
            ++totals->dead_lettered;
            continue;
        }
        if (message.skipped) {
            ++totals->skipped;
            continue;
        }
        switch (*verdicts[i]) {
            case Verdict::fresh:
                if (message.deferred) parts_.finish(message, finished_);
                if (const auto first = by_key ? order.first(message) : std::nullopt) {
                    message.rejection = behind(*first);
                }
                // DANGER: this transaction holds a claim of it by now, and must not commit that.
                if (message.rejection || message.skipped) {
                    sorted.again = true;
                    break;
                }
                sorted.fresh.push_back(&message);
                ++totals->applied;
                break;
            case Verdict::duplicate: ++totals->duplicates; break;
            case Verdict::conflict:
                message.rejection = Rejection{Rejection::Kind::conflict,
                                              "the key was used before for another payload", "", 1};
                sorted.conflicts.push_back(&message);
                order.rejected(message);
                sorted.rejected.push_back(&message);
                ++totals->conflicts;
                break;
        }
    }
    return sorted;
}

void Processor::check_policy(const Slice& slice, const Sorted& sorted) {
    if (sorted.rejected.empty()) return;
    const Message& first = *sorted.rejected.front();
    switch (policy_.action) {
        case RejectPolicy::Action::halt:
            throw TopicHalted(
                first.record.partition, first.record.offset,
                "on_reject: halt, and a message was rejected: " + describe(*first.rejection));
        case RejectPolicy::Action::dead_letter: break;
    }
    if (rejections_.would_exceed(
            RejectionWindow::Clock::now(), static_cast<std::int64_t>(slice.messages.size()),
            static_cast<std::int64_t>(sorted.rejected.size()) - sorted.behind)) {
        throw TopicHalted(first.record.partition, first.record.offset,
                          "the share of rejected messages is above the topic's cap; the first "
                          "one: " +
                              describe(*first.rejection));
    }
}

void Processor::write(Transaction& transaction, const Sorted& sorted) {
    origin_ = Origin::sink;
    if (!sorted.fresh.empty()) parts_.sink.write(transaction, context_, sorted.fresh);
    origin_ = Origin::ours;
    if (!sorted.rejected.empty()) parts_.dead_letters.write(transaction, context_, sorted.rejected);
}

// With the fence go the sink's last words: what it deferred is checked, and nothing may cancel any
// longer.
bool Processor::advance(Transaction& transaction, const Sorted& sorted) {
    const Parameters none;
    origin_ = Origin::sink;
    try {
        const std::size_t moved = parts_.fences.advance(
            transaction, context_.topic, sorted.moves,
            {{sql::sink_constraints, none, {}}, {sql::sink_no_timeout, none, {}}});
        origin_ = Origin::ours;
        return moved == sorted.moves.size();
    } catch (const PostgresError& error) {
        if (error.diagnosis().statement > 0) origin_ = Origin::ours;
        throw;
    }
}

}  // namespace onceward
