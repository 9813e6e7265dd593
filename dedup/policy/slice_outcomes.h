#pragma once
// What one transaction does with each message of its slice, by the ledger's verdicts and the
// topic's policy. Pure, except for what `finish` does to deferred messages, and KeyOrder::look().
// Used by one thread; borrows the messages.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dedup/claims/distinct_claims.h"
#include "dedup/fence/fence.h"
#include "dedup/message/batch.h"
#include "dedup/message/message.h"
#include "dedup/policy/topic_policy.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/sink.h"

namespace onceward {

// Which messages must wait for a dead letter with their record key (`order: by_key`). Recreated in
// each transaction, from what that transaction sees under its fences. Used by one thread; borrows
// the messages. look() throws PostgresError.
class KeyOrder {
  public:
    struct Place {
        Partition partition;
        Offset offset;
    };

    // Reads the open dead letters of the group's topic under the keys of these messages.
    // REQUIRES: the transaction holds the fences of their partitions, so that nobody adds any.
    void look(Transaction& transaction, const BatchContext& context,
              std::span<Message* const> messages);
    // The dead letter that the message must follow; nullopt if there is none.
    std::optional<Place> first(const Message& message) const;
    // The message goes to the dead letters in this transaction: later messages with its key follow
    // it there.
    void rejected(const Message& message);

  private:
    std::map<const Message*, Place> in_table_;
    std::unordered_map<std::string_view, Place> in_slice_;
};

// The rejection of a message that follows this dead letter.
Rejection behind(const KeyOrder::Place& first);

// Removes the rejection that an earlier attempt gave because of a dead letter of the same key.
// Returns true if that dead letter was resolved meanwhile. Otherwise the message is rejected again,
// and the reason names the dead letter that is the first now.
bool stood_behind(Message& message, const KeyOrder& order);

struct SliceOutcomes {
    std::vector<const Message*> fresh;
    std::vector<const Message*> rejected;
    std::vector<const Message*> duplicates;  // only if their results are wanted
    // Those of this attempt; also among the rejected, unless they are ignored.
    std::vector<Message*> conflicts;
    // Messages of this attempt whose keys the ledger cannot judge; also among the rejected.
    std::vector<Message*> unjudged;
    std::vector<FenceMove> moves;
    // The rejected messages that are not at fault themselves: how many follow another one, and
    // those whose key came too often.
    std::int64_t behind = 0;
    std::vector<const Message*> hot;
    bool again = false;  // a presumption or an order of keys did not hold: claim again
    // The slice has to be cut before this message: see DistinctClaims::judged_apart().
    std::optional<std::size_t> cut_at{};
    std::deque<EarlierClaim> earlier;  // what the conflicts' rejections refer to

    explicit SliceOutcomes(std::span<const Span> spans);
    // Never copied: the copy's destructor would take back the verdicts.
    SliceOutcomes(SliceOutcomes&&) = default;
    std::int64_t at_fault() const {
        return static_cast<std::int64_t>(rejected.size() - hot.size()) - behind;
    }
    // A verdict holds for one attempt: the next one asks the ledger again.
    ~SliceOutcomes();
};

// Decodes a deferred message; may set its rejection, or skip it.
using FinishMessage = std::function<void(Message&)>;

// `verdicts`: one for each message, nullopt for those that claim nothing. REQUIRES: `order` was
// read if the policy's order is by key.
SliceOutcomes sort_slice(const Slice& slice, std::span<const std::optional<Verdict>> verdicts,
                         const RejectPolicy& policy, KeyOrder& order, const FinishMessage& finish);

// Records for the rejected conflicts what they conflict with; places only for the same slice.
void tell_conflicts(SliceOutcomes& sorted, const DistinctClaims& folded,
                    std::span<const ClaimAnswer> answers, const BatchContext& context);

// The first message of the slice at which the policy halts the topic; nullopt if the topic
// continues.
std::optional<std::size_t> halts_at(const Slice& slice, const RejectPolicy& policy);

}  // namespace onceward
