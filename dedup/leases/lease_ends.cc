// The lease processor's other transaction: it records how effects ended, and moves the fence over
// the leading ones. It also releases partitions.

#include "dedup/leases/lease_processor.h"
#include "schemas/queries.h"

namespace onceward {

std::set<Partition> LeaseProcessor::write_ends(Connection& connection) {
    std::set<Partition> missed;
    while (!write_ends_once(connection, missed)) {
    }
    look_for_halt();
    return missed;
}

// Returns false if it was rolled back and must be repeated, without what somebody else owns by now:
// a fence, which then stays, or a key, which is then claimed again. The outcome of an effect is
// written down in any case: the partition's next owner finds it there.
bool LeaseProcessor::write_ends_once(Connection& connection, std::set<Partition>& missed) {
    Ends ends = gather(missed);
    if (ends.empty()) return true;
    reached(Step::before_begin);
    OwnedTransaction transaction(connection);
    if (!ends.moves.empty()) {
        std::vector<Span> spans;
        for (const FenceMove& move : ends.moves) spans.push_back(move.span);
        const auto not_mine = parts_.fences.hold(transaction, context_.topic, spans);
        missed.insert(not_mine.begin(), not_mine.end());
        if (!not_mine.empty()) return false;
    }
    reached(Step::after_fence);
    if (!write(transaction, ends)) return false;
    reached(Step::after_sink);
    // DANGER: move the fence in the transaction that finishes the lowest open message, and only
    // over finished ones: a result that ends out of order would jump over one in flight.
    if (!ends.moves.empty() &&
        parts_.fences.advance(transaction, context_.topic, ends.moves) != ends.moves.size()) {
        for (const FenceMove& move : ends.moves) missed.insert(move.span.partition);
        return false;
    }
    reached(Step::before_commit);
    transaction.commit();
    landed(ends);
    return true;
}

LeaseProcessor::Ends LeaseProcessor::gather(const std::set<Partition>& missed) {
    Ends ends;
    std::set<std::pair<Partition, Offset>> passed;
    for (const auto& [partition, prefix] : prefixes_) {
        if (missed.contains(partition)) continue;
        const std::optional<FenceMove> move = prefix.due();
        if (!move) continue;
        ends.moves.push_back(*move);
        for (const Offset offset : prefix.passed()) passed.emplace(partition, offset);
    }
    for (Item& item : items_) {
        const bool passing = passed.contains({item.partition(), item.offset()});
        if (passing) ends.passing.push_back(&item);
        if (item.state == LeaseState::ended) {
            const bool failed = item.ending == MessageEnd::dead_lettered;
            ends.ended.push_back(&item);
            ends.rows.push_back({item.message->digest, failed, passing, item.outcome.result.status,
                                 failed ? item.outcome.reason : std::string()});
            if (failed) ends.letters.push_back(item.message);
        } else if (passing) {
            if (item.message->rejection && item.earlier) {
                item.message->rejection->earlier = &*item.earlier;
            }
            if (item.message->rejection) ends.letters.push_back(item.message);
            if (item.state == LeaseState::written) ends.counted.push_back(item.message->digest);
            if (item.ending == MessageEnd::duplicate) ends.duplicates.push_back(item.message);
        }
    }
    return ends;
}

bool LeaseProcessor::write(Transaction& transaction, Ends& ends) {
    if (!ends.ended.empty()) {
        const bool kept = parts_.answers != nullptr;
        const std::vector<Digest> written =
            leases_.finish(transaction, ends.rows, kept, ends.counted);
        const std::set<Digest> mine(written.begin(), written.end());
        bool all = true;
        for (Item* item : ends.ended) {
            if (mine.contains(item->message->digest)) continue;
            all = false;
            lose(*item);
            prefixes_.at(item->partition()).reopen(item->offset());
            item->message->rejection.reset();
            item->ending.reset();
        }
        if (!all) return false;
    }
    // Also if there are none: committed() must not use results of an attempt that was rolled back.
    if (parts_.answers != nullptr) {
        std::vector<const Message*> messages;
        std::vector<MessageResult> results;
        for (const Item* item : ends.ended) {
            messages.push_back(item->message);
            results.push_back(item->outcome.result);
        }
        parts_.answers->begin();
        parts_.answers->take(std::move(results), messages);
        parts_.answers->store(transaction, messages, ends.duplicates);
        if (parts_.answers->replay_rest(transaction) == Settlement::again) return false;
        if (parts_.answers->settle(transaction) == Settlement::again) return false;
    }
    if (!ends.counted.empty()) leases_.count(transaction, ends.counted);
    if (!ends.letters.empty()) parts_.dead_letters.write(transaction, context_, ends.letters);
    return true;
}

// The COMMIT was answered.
void LeaseProcessor::landed(const Ends& ends) {
    reached(Step::after_commit);
    failures_.ended();
    if (parts_.answers != nullptr) parts_.answers->committed();
    if (trace_.has_messages()) trace_ends(ends);
    // What the fence passes: a message that ended before an earlier one is counted with it.
    if (parts_.aged && !ends.passing.empty()) {
        parts_.aged(ages_of(ends.passing, since_1970<std::chrono::milliseconds>(),
                            [](const Item* item) { return item->message->record.timestamp; }));
    }
    for (Item* item : ends.ended) {
        change(*item, LeaseStep::write_end);
        item->message->rejection.reset();  // its dead letter exists
    }
    rejections_.record(RejectionWindow::Clock::now(),
                       static_cast<std::int64_t>(ends.passing.size()),
                       static_cast<std::int64_t>(ends.letters.size()));
    std::set<const Item*> gone(ends.passing.begin(), ends.passing.end());
    // Nothing refers to an item between two transactions.
    std::vector<Item> rest;
    for (Item& item : items_) {
        if (!gone.contains(&item)) rest.push_back(std::move(item));
    }
    items_ = std::move(rest);
    for (const FenceMove& move : ends.moves) {
        const Partition partition = move.span.partition;
        waited_.passed(partition, move.span.end);
        elsewhere_.passed(partition, move.span.end);
        const auto prefix = prefixes_.find(partition);
        prefix->second.moved(move);
        if (prefix->second.done()) prefixes_.erase(prefix);
    }
    if (!ends.moves.empty()) committed_(ends.moves);
}

// Traces what ended in this transaction, and what the fence passes without an effect of its own.
void LeaseProcessor::trace_ends(const Ends& ends) {
    for (const Item* item : ends.ended) trace_.ended(*item->message, to_text(*item->ending));
    for (const Item* item : ends.passing) {
        if (item->ending) trace_.ended(*item->message, to_text(*item->ending));
    }
}

// A topic halts before a message once everything before that message has landed.
void LeaseProcessor::look_for_halt() {
    if (halting_) return;
    for (const auto& [partition, prefix] : prefixes_) {
        const std::optional<Offset> open = prefix.first_open();
        if (!open) continue;
        const Item& item = item_at(partition, *open);
        if (!stops(item.state)) continue;
        halting_.emplace(item.message->record, *item.message->rejection);
        return;
    }
}

// Releases the partitions that leave, wait or halt, once what is under way for them has ended and
// is written down. DANGER: what is still under way when the deadline has passed is aborted and
// keeps its lease: it may still be running on the other side, so the next owner must wait until the
// lease ends.
void LeaseProcessor::give_back(Connection& connection) {
    leaving_ = parts_.leaving ? parts_.leaving() : std::set<Partition>{};
    const std::set<Partition> overdue = parts_.overdue ? parts_.overdue() : std::set<Partition>{};
    std::set<Partition> going;
    std::set<Partition> dropped;
    bool all_quiet = true;
    for (const auto& [partition, prefix] : prefixes_) {
        const bool is_quiet = quiet(partition);
        all_quiet = all_quiet && is_quiet;
        const bool is_overdue = overdue.contains(partition);
        if (is_overdue || (is_quiet && stands(partition))) going.insert(partition);
        if (is_overdue || (is_quiet && leaving_.contains(partition))) dropped.insert(partition);
    }
    release(connection, going);
    abandon(dropped);
    if (halting_ && all_quiet) throw TopicHalted(*halting_);
    for (const auto& [partition, wait] : waits_) {
        if (!going.contains(partition)) continue;
        const Record& record = item_at(partition, wait.offset).message->record;
        const Wait why = wait;
        waits_.erase(record.partition);
        throw MessageWaits(record, why.tried, why.pause, why.reason);
    }
}

void LeaseProcessor::release(Connection& connection, const std::set<Partition>& partitions) {
    std::vector<Item*> released;
    std::vector<LeaseTries> mine;
    for (Item& item : items_) {
        if (!is_held(item.state) || item.state == LeaseState::called) continue;
        if (!partitions.contains(item.partition())) continue;
        released.push_back(&item);
        // Takes back a try that was written down and is not made.
        mine.push_back({item.message->digest, item.state == LeaseState::ready ? 1 : 0});
    }
    if (mine.empty()) return;
    leases_.release(connection, mine);
    for (Item* item : released) change(*item, LeaseStep::release);
}

}  // namespace onceward
