#pragma once
// The evidence with its indexes: each message of the log, what was produced and what became
// of it. Made once, then only read; borrows the evidence for its life.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/faults/checker/checks.h"
#include "tests/faults/checker/evidence.h"

namespace onceward::checker {

enum class Outcome : std::uint8_t {
    waiting,  // the fence has not reached it, or began after it
    applied,
    duplicate,
    conflict,
    dead_letter,
    skipped,        // by a rule of the configuration
    skipped_range,  // by a row of skipped_ranges
    vanished,       // compacted away, perhaps before it was read
    nowhere,        // passed, and in no place
};

// A message at one place of the log.
struct Message {
    Place place{};
    const ProducedMessage* produced = nullptr;
    int key = -1;           // number among keys(); -1: none
    bool in_log = true;     // false: compacted away; it may have been read before, or not
    bool passed = false;    // between the fence's first and next offset
    bool in_range = false;  // in a skipped range
    bool failed = false;    // its call was refused for good, and its key has failed with it
    Outcome outcome = Outcome::waiting;
    int effects = 0;
    int claims = 0;
    int dead_letters = 0;
    const Effect* effect = nullptr;
    const Claim* claim = nullptr;
    const DeadLetter* dead_letter = nullptr;
};

struct PartitionView {
    PartitionName name{};
    std::int64_t end = 0;
    bool end_known = false;
    const Fence* fence = nullptr;
    std::vector<Message> messages{};        // in the order of offsets
    std::vector<const FenceMove*> moves{};  // in the order of commits

    // Messages in the log with begin <= offset < end: those that must have been met, and with them
    // those that were compacted away.
    std::pair<std::int64_t, std::int64_t> count(std::int64_t begin, std::int64_t end) const;
};

struct Key {
    const ProducedMessage* sample = nullptr;
    bool must_be_applied = false;  // a message of it that can be applied was passed
    bool failed = false;           // its lease has ended so: what comes under it is a duplicate
    const KeyCommand* imported = nullptr;          // it need not have an effect of its own
    std::vector<const KeyCommand*> forgotten{};    // after each it may have one more
    int applied = 0;
    const ProducedMessage* applied_by = nullptr;  // one of those that were applied
};

class Joined {
  public:
    explicit Joined(const Evidence& evidence);
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;

    const Evidence& evidence() const { return evidence_; }
    const std::map<PartitionName, PartitionView>& partitions() const { return partitions_; }
    const std::vector<Key>& keys() const { return keys_; }
    const std::vector<std::string>& problems() const { return problems_; }
    const TopicSettings& topic(int number) const;
    bool claims_alone(int number) const { return topic(number).upsert || topic(number).leases; }

    const Message* find(const Place& place) const;
    // How the message was applied once: its row, or where that cannot be seen its claim. Others
    // overwrite the rows of an upsert, and calls leave none.
    int times_applied(const Message& message) const;
    Transaction transaction(const Message& message) const;
    // Whether the message can be applied, for certain.
    bool can_be_applied(const Message& message) const;
    // Whether the key lacks an effect that it must have. Where a generation was dropped, an
    // upsert's claim is no longer there to be counted.
    bool is_lost(const Key& key) const;
    // Whether its key was applied with another fingerprint.
    bool differs(const Message& message) const;
    // When its transaction moved the fence, by the audit; 0: not known.
    std::int64_t applied_at(const Message& message) const;
    // The move of that transaction over that place; null if there is none.
    const FenceMove* move_over(const Place& place, Transaction transaction) const;
    // Whether claims may be gone because retention has dropped a generation.
    bool generations_dropped() const { return generations_dropped_; }

    std::string describe(const Place& place) const;
    std::string describe(const Message& message) const;
    std::string describe(const PartitionName& name) const;
    std::string describe(const Key& key) const;

  private:
    void join_log();
    void add_what_was_deleted();
    void join_rows();
    void join_keys();
    void join_failures();
    void settle_outcomes();
    Outcome outcome(const Message& message) const;
    void join_commands(const std::unordered_map<std::string, int>& numbers);
    // What tells it from others; empty: none.
    std::string key_name(const ProducedMessage& message) const;
    int key_of(const ProducedMessage& message, std::unordered_map<std::string, int>& numbers);
    Message* find(const Place& place);

    const Evidence& evidence_;
    std::map<PartitionName, PartitionView> partitions_;
    std::vector<Key> keys_;
    std::vector<std::string> problems_;
    bool generations_dropped_ = false;
};

}  // namespace onceward::checker
