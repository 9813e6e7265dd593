// I2, I3, I7, I12: where the fences stand, and that everything before them is somewhere.

#include <algorithm>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

void check_committed(const Joined& joined, Violations& violations) {
    const Settings& settings = joined.evidence().settings;
    if (settings.failed_over || settings.committed_offset_moved || settings.rewound) return;
    Finding passed("I2", "the offset that is committed to Kafka has passed the fence");
    for (const CommittedOffset& committed : joined.evidence().committed) {
        const auto view = joined.partitions().find(committed.name);
        const Fence* fence = view == joined.partitions().end() ? nullptr : view->second.fence;
        const std::int64_t next = fence == nullptr ? 0 : fence->next_offset;
        if (committed.offset > next) {
            passed.at([&] {
                return joined.describe(committed.name) + ": committed " +
                       std::to_string(committed.offset) + ", fence " + std::to_string(next);
            });
        }
    }
    passed.into(violations);
}

class Chain {
  public:
    explicit Chain(const Joined& joined) : joined_(joined) {}

    void check(const PartitionView& view) {
        const FenceMove* last = nullptr;
        for (const FenceMove* move : view.moves) {
            const auto where = [&] {
                return joined_.describe(view.name) + " " + std::to_string(move->old_next) + " to " +
                       std::to_string(move->new_next) + ", audit row " +
                       std::to_string(move->sequence);
            };
            if (last != nullptr &&
                (last->new_next != move->old_next || last->new_owner != move->old_owner)) {
                broken_.at(where);
            }
            const bool made = move->old_owner.empty();
            const bool moved = !made && move->new_next != move->old_next;
            if (moved && !move->by_operator && move->new_owner != move->old_owner)
                robbed_.at(where);
            if (moved && move->new_next < move->old_next && !joined_.evidence().settings.rewound) {
                back_.at(where);
            }
            last = move;
        }
        if (last == nullptr || view.fence == nullptr) return;
        if (last->new_next != view.fence->next_offset || last->new_owner != view.fence->owner) {
            broken_.at([&] { return joined_.describe(view.name) + " at its end"; });
        }
    }
    void into(Violations& violations) {
        broken_.into(violations);
        robbed_.into(violations);
        back_.into(violations);
    }

  private:
    const Joined& joined_;
    Finding broken_{"I2", "a fence has moved from where its owner had not left it"};
    Finding robbed_{"I2", "a fence was moved and taken in one step"};
    Finding back_{"I2", "a fence has moved back, and nobody rewound it"};
};

// A move's count of applied messages against the rows of its transaction.
void check_rows_of_moves(const Joined& joined, Violations& violations) {
    Finding alone("I2", "a fence has moved without the rows of what it counts as applied");
    for (const auto& [name, view] : joined.partitions()) {
        if (joined.topic(name.topic).upsert && joined.generations_dropped()) continue;
        for (const FenceMove* move : view.moves) {
            std::int64_t rows = 0;
            auto message = std::ranges::lower_bound(
                view.messages, move->old_next, {}, [](const Message& m) { return m.place.offset; });
            for (; message != view.messages.end() && message->place.offset < move->new_next;
                 ++message) {
                if (joined.times_applied(*message) > 0 &&
                    joined.transaction(*message) == move->transaction) {
                    ++rows;
                }
            }
            if (rows != move->counted.applied) {
                alone.at([&, &partition = name] {
                    return joined.describe(partition) + " " + std::to_string(move->old_next) +
                           " to " + std::to_string(move->new_next) + ": counted " +
                           std::to_string(move->counted.applied) + ", rows " + std::to_string(rows);
                });
            }
        }
    }
    alone.into(violations);
}

// Messages that the fence has passed and that are in no place.
void find_nowhere(const Joined& joined, Finding& nowhere) {
    for (const auto& [name, view] : joined.partitions()) {
        for (const Message& message : view.messages) {
            const bool unknown = joined.topic(name.topic).upsert && joined.generations_dropped() &&
                                 joined.can_be_applied(message);
            if (message.outcome == Outcome::nowhere && !unknown) {
                nowhere.at([&] { return joined.describe(message); });
            }
        }
    }
}

// Rows of messages that no fence has passed.
void find_unpassed(const Joined& joined, Finding& beyond) {
    for (const auto& [name, view] : joined.partitions()) {
        for (const Message& message : view.messages) {
            if (message.passed) continue;
            if (message.effects + message.claims + message.dead_letters > 0) {
                beyond.at([&] { return joined.describe(message); });
            }
        }
    }
}

}  // namespace

Violations check_fence_moves(const Joined& joined) {
    Violations violations;
    check_committed(joined, violations);
    if (!joined.evidence().settings.audited) return violations;
    Chain chain(joined);
    for (const auto& [name, view] : joined.partitions()) chain.check(view);
    chain.into(violations);
    check_rows_of_moves(joined, violations);
    return violations;
}

Violations check_coverage(const Joined& joined) {
    Violations violations;
    Finding nowhere("I3", "the fence has passed a message that is in no place");
    find_nowhere(joined, nowhere);
    nowhere.into(violations);
    Finding beyond("I3", "a message has its row, claim or dead letter, and no fence has passed it");
    if (!joined.evidence().settings.rewound) find_unpassed(joined, beyond);
    beyond.into(violations);
    Finding past("I3", "a fence is after the log's end");
    for (const auto& [name, view] : joined.partitions()) {
        if (view.fence != nullptr && view.end_known && view.fence->next_offset > view.end) {
            past.at([&, &partition = name, &fence = *view.fence, end = view.end] {
                return joined.describe(partition) + ": fence " + std::to_string(fence.next_offset) +
                       ", end " + std::to_string(end);
            });
        }
    }
    past.into(violations);
    return violations;
}

// The lost commits took fence, claims and rows with them; what was read again is there once.
Violations check_fail_over(const Joined& joined) {
    Violations violations;
    if (!joined.evidence().settings.failed_over) return violations;
    Finding nowhere("I7", "after the fail-over the fence has passed what is in no place");
    find_nowhere(joined, nowhere);
    nowhere.into(violations);
    Finding beyond("I7", "after the fail-over the fence went back further than the rows");
    if (!joined.evidence().settings.rewound) find_unpassed(joined, beyond);
    beyond.into(violations);
    return violations;
}

Violations check_lag(const Joined& joined) {
    Violations violations;
    Finding lag("I12", "messages wait, and the partition does not say why");
    for (const auto& [name, view] : joined.partitions()) {
        const std::int64_t from = view.fence == nullptr ? 0 : view.fence->next_offset;
        const std::int64_t waiting = view.count(from, INT64_MAX).first;
        const bool said = std::ranges::any_of(joined.evidence().halted,
                                              [&partition = name](const Halted& halted) {
                                                  return halted.name == partition && halted.said;
                                              });
        if (waiting > 0 && !said) {
            lag.at([&, &partition = name] {
                return joined.describe(partition) + ": " + std::to_string(waiting) +
                       " messages from offset " + std::to_string(from);
            });
        }
    }
    lag.into(violations);
    return violations;
}

}  // namespace onceward::checker
