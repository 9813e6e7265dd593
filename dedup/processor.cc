#include "dedup/processor.h"

#include <algorithm>

#include "dedup/claims/fold.h"
#include "dedup/key_order.h"
#include "dedup/log.h"
#include "dedup/mutants.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// After this many failing slices of a batch the rest is tried one message at a time: many are bad,
// halving is waste.
constexpr int halvings = 3;
// Time-outs of the same statement in a row before it is tried with fewer messages.
constexpr int patience = 4;

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
void commit(OwnedTransaction& transaction, [[maybe_unused]] const Slice& slice) {
    if constexpr (mutants_built) {
        try {
            return transaction.commit();
        } catch (const PostgresError& error) {
            const bool asks = mutant(Mutant::select_to_resolve_a_lost_commit) &&
                              error.diagnosis().in_doubt && !slice.messages.empty();
            if (!asks ||
                !select_says_committed(transaction.connection(), slice.messages.front()->digest)) {
                throw;
            }
        }
    } else {
        transaction.commit();
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
    OwnedTransaction transaction(connection);
    for (const Partition partition : parts_.fences.hold(transaction, context_.topic, slice.spans)) {
        missed.insert(partition);
    }
    // DANGER: a partition whose fence is another's, or stands elsewhere, must take the whole
    // transaction with it.
    if (!missed.empty()) return Attempt::missed;
    reached(parts_.observer, Step::after_fence);

    const Sorted sorted = sort_out(transaction, slice);
    if (sorted.again) return Attempt::again;
    check_policy(slice, sorted);
    reached(parts_.observer, Step::after_claims);

    write(transaction, sorted);
    reached(parts_.observer, Step::after_sink);

    if (parts_.fences.advance(transaction, context_.topic, sorted.moves) != sorted.moves.size()) {
        for (const FenceMove& move : sorted.moves) missed.insert(move.span.partition);
        return Attempt::missed;
    }
    if (parts_.claims != nullptr && parts_.claims->settle(transaction) == Settlement::again) {
        return Attempt::again;
    }
    reached(parts_.observer, Step::before_commit);
    origin_ = Origin::sink;  // A deferred trigger of the user's table may still speak.
    if (mutant(Mutant::offset_before_commit)) committed_(sorted.moves);
    commit(transaction, slice);

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

Processor::Sorted Processor::sort_out(Transaction& transaction, const Slice& slice) {
    Sorted sorted;
    for (const Span& span : slice.spans) sorted.moves.push_back({span, {}});
    std::vector<std::optional<Verdict>> verdicts;
    if (parts_.claims != nullptr) {
        const FoldedClaims folded(slice.messages);
        const auto answers = parts_.claims->claim(transaction, context_.topic, folded.claims());
        if (!answers) {
            sorted.again = true;
            return sorted;
        }
        verdicts = folded.verdicts(*answers);
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
    // Deferred constraints and triggers speak here, where their error is definite, and not in the
    // COMMIT. From here on nothing may cancel, whatever the batch holds: a COMMIT that is cancelled
    // in its wait for a standby commits all the same.
    transaction.connection().execute(sql::close_sink);
    origin_ = Origin::ours;
    if (!sorted.rejected.empty()) parts_.dead_letters.write(transaction, context_, sorted.rejected);
}

// A refusal is no verdict yet where claims are only presumed: the sink's constraint may have met
// the row of a duplicate that another worker has just applied.
bool Processor::met_a_duplicate(Connection& connection) {
    try {
        return parts_.claims != nullptr && parts_.claims->reconsider(connection);
    } catch (const PostgresError& error) {
        throw ProcessingError(error, classify(error.diagnosis(), Origin::ours, 0));
    }
}

// The sink's statement runs into its time-out again and again: fewer messages at once may do, and
// one that is alone holds its partition until somebody has looked. It never goes to the dead
// letters by itself: the fault may be the server's.
bool Processor::too_slow(const PostgresError& error) {
    if (origin_ != Origin::sink || error.sqlstate() != "57014" || repeated_ < patience) {
        return false;
    }
    Slice slice = std::move(pending_.front());
    pending_.pop_front();
    if (slice.messages.size() < 2) {
        const Record& record = slice.messages.front()->record;
        throw TopicHalted(record.partition, record.offset,
                          "the message at partition " + std::to_string(record.partition.raw()) +
                              ", offset " + std::to_string(record.offset.raw()) +
                              " alone runs into statement_timeout (57014); pass it with `onceward "
                              "offsets --set`");
    }
    repeated_ = 0;
    Halves halves = halve(slice);
    pending_.push_front(std::move(halves.second));
    pending_.push_front(std::move(halves.first));
    return true;
}

// A message of the front slice is at fault: halve until it stands alone; then it goes to the dead
// letters.
void Processor::split(const PostgresError& error) {
    // Nothing that halving could tell apart: no message, or one that the sink did not get.
    const std::vector<Message*>& messages = pending_.front().messages;
    if (messages.empty() || (messages.size() == 1 && messages.front()->rejection)) {
        throw ProcessingError(error, FailureAction::stop);
    }
    Slice slice = std::move(pending_.front());
    pending_.pop_front();
    if (slice.messages.size() == 1) {
        Message& message = *slice.messages.front();
        pending_.push_front(std::move(slice));
        reject(message, error);
        return;
    }
    if (++failing_slices_ > halvings) {
        std::vector<Slice> parts = singles(slice);
        pending_.insert(pending_.begin(), std::make_move_iterator(parts.begin()),
                        std::make_move_iterator(parts.end()));
        return;
    }
    Halves halves = halve(slice);
    pending_.push_front(std::move(halves.second));
    pending_.push_front(std::move(halves.first));
}

// The message stands alone: it waits and is tried again where that may help, else it goes to the
// dead letters.
void Processor::reject(Message& message, const PostgresError& error) {
    const Record& record = message.record;
    if (may_pass(error.sqlstate())) {
        if (const auto pause = retries_.next(record.partition, record.offset)) {
            throw MessageWaits(record, retries_.tried(record.partition, record.offset), *pause,
                               error.summary());
        }
    }
    const int tried = retries_.tried(record.partition, record.offset);
    message.rejection = Rejection{Rejection::Kind::sink, error.diagnosis().message,
                                  error.sqlstate(), tried > 0 ? tried + 1 : failing_slices_ + 1};
    log_warning("message.rejected", {{"topic", context_.topic},
                                     {"partition", record.partition.raw()},
                                     {"offset", record.offset.raw()},
                                     {"digest", hex(message.digest)},
                                     {"error", error.summary()}});
}

}  // namespace onceward
