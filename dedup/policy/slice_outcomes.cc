#include "dedup/policy/slice_outcomes.h"

#include <algorithm>

#include "dedup/base/expects.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using OnConflict = RejectPolicy::OnConflict;

Partition partition_of(const FenceMove& move) { return move.span.partition; }

// A message of a hot key does not hold up others with its record key: the message before it with
// its idempotency key has landed, or holds them up itself.
bool hot(const Message& message) { return message.rejection->kind == Rejection::Kind::hot_key; }

class Sorter {
  public:
    Sorter(const RejectPolicy& policy, KeyOrder& order, const FinishMessage& finish,
           SliceOutcomes& sorted)
        : policy_(policy), order_(order), finish_(finish), sorted_(sorted) {}

    void take(Message& message, const std::optional<Verdict>& verdict) {
        const Partition partition = message.record.partition;
        if (move_ == nullptr || partition_of(*move_) != partition) {
            move_ = &*std::ranges::find(sorted_.moves, partition, partition_of);
        }
        Totals& totals = move_->totals;
        if (stood_behind(message, order_)) {
            sorted_.again = true;
        } else if (message.rejection) {
            if (message.rejection->kind == Rejection::Kind::behind) ++sorted_.behind;
            if (hot(message)) sorted_.hot.push_back(&message);
            reject(message);
            ++totals.dead_lettered;
        } else if (message.skipped) {
            ++totals.skipped;
        } else {
            claimed(message, *verdict);
        }
    }

  private:
    void claimed(Message& message, Verdict verdict) {
        switch (verdict) {
            case Verdict::fresh: fresh(message); break;
            case Verdict::duplicate: ++move_->totals.duplicates; break;
            case Verdict::conflict: conflict(message); break;
            case Verdict::late:
            case Verdict::early: unjudged(message, verdict); break;
        }
    }

    void fresh(Message& message) {
        if (message.deferred) finish_(message);
        const bool by_key = policy_.order == RejectPolicy::Order::by_key;
        if (const auto first = by_key ? order_.first(message) : std::nullopt) {
            message.rejection = behind(*first);
        }
        // DANGER: this transaction already holds a claim of the message, and must not commit it.
        if (message.rejection || message.skipped) {
            sorted_.again = true;
            return;
        }
        sorted_.fresh.push_back(&message);
        ++move_->totals.applied;
    }

    void conflict(Message& message) {
        ++move_->totals.conflicts;
        sorted_.conflicts.push_back(&message);
        if (policy_.conflict_action() == OnConflict::ignore) return;
        message.rejection = Rejection{Rejection::Kind::conflict,
                                      "the key was used before with another fingerprint", "", 1};
        reject(message);
    }

    void unjudged(Message& message, Verdict verdict) {
        ++move_->totals.dead_lettered;
        sorted_.unjudged.push_back(&message);
        message.rejection = refusal_of(verdict);
        reject(message);
    }

    void reject(const Message& message) {
        sorted_.rejected.push_back(&message);
        if (!hot(message)) order_.rejected(message);
    }

    const RejectPolicy& policy_;
    KeyOrder& order_;
    const FinishMessage& finish_;
    SliceOutcomes& sorted_;
    FenceMove* move_ = nullptr;  // of the last message's partition
};

}  // namespace

// A message without a record key follows no other.
void KeyOrder::look(Transaction& transaction, const BatchContext& context,
                    std::span<Message* const> messages) {
    const QueryResult any =
        transaction.prepared(sql::dead_letters_any, {context.consumer_group, context.topic});
    if (!any.boolean(0, 0)) return;
    std::vector<const Message*> asked;
    std::vector<std::optional<std::string_view>> keys;
    std::vector<std::int32_t> partitions;
    std::vector<std::int64_t> offsets;
    for (const Message* message : messages) {
        if (!message->record.key || message->skipped) continue;
        asked.push_back(message);
        keys.push_back(message->record.key);
        partitions.push_back(message->record.partition.raw());
        offsets.push_back(message->record.offset.raw());
    }
    if (asked.empty()) return;
    const QueryResult found = transaction.prepared(sql::dead_letters_before,
                                                   Parameters{context.consumer_group, context.topic}
                                                       .byte_strings(keys)
                                                       .small_integers(partitions)
                                                       .integers(offsets));
    for (int row = 0; row < found.rows(); ++row) {
        in_table_[asked.at(static_cast<std::size_t>(found.integer(row, 0) - 1))] = {
            Partition{static_cast<std::int32_t>(found.integer(row, 1))},
            Offset{found.integer(row, 2)}};
    }
}

std::optional<KeyOrder::Place> KeyOrder::first(const Message& message) const {
    if (!message.record.key) return std::nullopt;
    if (const auto found = in_table_.find(&message); found != in_table_.end()) {
        return found->second;
    }
    const auto found = in_slice_.find(*message.record.key);
    return found == in_slice_.end() ? std::nullopt : std::optional(found->second);
}

void KeyOrder::rejected(const Message& message) {
    if (!message.record.key) return;
    in_slice_.try_emplace(*message.record.key,
                          Place{message.record.partition, message.record.offset});
}

Rejection behind(const KeyOrder::Place& first) {
    return {Rejection::Kind::behind,
            "follows the dead letter at partition " + std::to_string(first.partition.raw()) +
                ", offset " + std::to_string(first.offset.raw()) + " under the same record key",
            "", 1};
}

bool stood_behind(Message& message, const KeyOrder& order) {
    if (!message.rejection || message.rejection->kind != Rejection::Kind::behind) return false;
    const auto first = order.first(message);
    message.rejection.reset();
    if (first) message.rejection = behind(*first);
    return !first;
}

SliceOutcomes::SliceOutcomes(std::span<const Span> spans) {
    for (const Span& span : spans) moves.push_back({span, {}});
}

SliceOutcomes::~SliceOutcomes() {
    for (Message* message : conflicts) message->rejection.reset();
    for (Message* message : unjudged) message->rejection.reset();
}

SliceOutcomes sort_slice(const Slice& slice, std::span<const std::optional<Verdict>> verdicts,
                         const RejectPolicy& policy, KeyOrder& order, const FinishMessage& finish) {
    expects(verdicts.size() == slice.messages.size(), "there is one verdict for each message");
    SliceOutcomes sorted(slice.spans);
    Sorter sorter(policy, order, finish, sorted);
    for (std::size_t i = 0; i < slice.messages.size(); ++i) {
        sorter.take(*slice.messages[i], verdicts[i]);
    }
    return sorted;
}

void tell_conflicts(SliceOutcomes& sorted, const DistinctClaims& folded,
                    std::span<const ClaimAnswer> answers, const BatchContext& context) {
    for (Message* message : sorted.conflicts) {
        if (!message->rejection) continue;
        const DistinctClaims::Met met = folded.met(*message, answers);
        EarlierClaim& earlier = sorted.earlier.emplace_back(EarlierClaim{met.fingerprint, {}});
        if (met.first != nullptr) {
            const Record& record = met.first->record;
            earlier.places = {{context.consumer_group, context.topic, record.partition,
                               record.offset, record.offset}};
        }
        message->rejection->earlier = &earlier;
    }
}

std::optional<std::size_t> halts_at(const Slice& slice, const RejectPolicy& policy) {
    const bool rejects = policy.action == RejectPolicy::Action::halt;
    const bool conflicts = policy.conflict_action() == OnConflict::halt;
    if (!rejects && !conflicts) return std::nullopt;
    for (std::size_t i = 0; i < slice.messages.size(); ++i) {
        const auto& rejection = slice.messages[i]->rejection;
        if (!rejection) continue;
        if (rejection->kind == Rejection::Kind::conflict ? conflicts : rejects) return i;
    }
    return std::nullopt;
}

}  // namespace onceward
