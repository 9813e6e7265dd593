// I18: trouble stays where it is. And I1, where a ledger tells keys apart by their partition: a
// topic whose number of partitions has changed makes no progress.

#include <algorithm>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

// So long may a partition make no progress though it has messages: a worker that dies is missed
// after a second, one that starts needs another one, and a table that is locked has its turn in
// between. The time is for one take-over.
constexpr std::int64_t longest_standstill_us = 10'000'000;
// Each further owner may have died after its second, before the partition's turn came.
constexpr std::int64_t take_over_us = 3'000'000;

// Where a fence stood, from one time to another.
struct Stand {
    std::int64_t at = 0;
    std::int64_t from_us = 0;
    std::int64_t to_us = 0;
    std::int64_t owners = 0;  // that took the fence meanwhile

    std::int64_t allowed_us() const {
        return longest_standstill_us + take_over_us * std::max<std::int64_t>(0, owners - 1);
    }
};

// Retries of one owner and take-overs move nothing, which is no progress.
std::vector<Stand> stands_of(const PartitionView& view, const Trouble& trouble) {
    std::vector<Stand> stands{{.from_us = trouble.from_us}};
    if (!view.moves.empty()) stands.front().at = view.moves.front()->old_next;
    for (const FenceMove* move : view.moves) {
        const bool moved = move->new_next != move->old_next;
        if (move->at_us <= trouble.from_us) {
            if (moved) stands.front().at = move->new_next;
            continue;
        }
        if (move->at_us >= trouble.to_us) break;
        if (!moved) {
            stands.back().owners += move->new_owner == move->old_owner ? 0 : 1;
            continue;
        }
        stands.back().to_us = move->at_us;
        stands.push_back({.at = move->new_next, .from_us = move->at_us});
    }
    stands.back().to_us = trouble.to_us;
    return stands;
}

// How long the message that waited longest did, up to the end of that time.
std::int64_t longest_wait(const PartitionView& view, const Stand& stand) {
    std::int64_t longest = 0;
    for (const Message& message : view.messages) {
        if (message.place.offset < stand.at || !message.in_log) continue;
        const std::int64_t sent = message.produced->acknowledged_us;
        if (sent != 0) longest = std::max(longest, stand.to_us - std::max(sent, stand.from_us));
    }
    return longest;
}

}  // namespace

Violations check_trouble(const Joined& joined) {
    Violations violations;
    if (!joined.evidence().settings.audited) return violations;
    Finding stood("I18", "a partition stood still while another topic was in trouble");
    for (const Trouble& trouble : joined.evidence().troubles) {
        for (const auto& [name, view] : joined.partitions()) {
            if (name.topic == trouble.topic) continue;
            for (const Stand& stand : stands_of(view, trouble)) {
                if (stand.to_us - stand.from_us <= stand.allowed_us()) continue;
                const std::int64_t waited = longest_wait(view, stand);
                if (waited <= stand.allowed_us()) continue;
                stood.at([&, &partition = name] {
                    return joined.describe(partition) + " at " + std::to_string(stand.at) +
                           ": messages waited for " + std::to_string(waited / 1000) + " ms, and " +
                           std::to_string(stand.owners) + " owners took it meanwhile";
                });
            }
        }
    }
    stood.into(violations);
    return violations;
}

Violations check_standstills(const Joined& joined) {
    Violations violations;
    Finding moved("I1", "a fence has moved after the topic's partitions had changed");
    for (const Standstill& still : joined.evidence().standstills) {
        for (const auto& [name, view] : joined.partitions()) {
            if (name.topic != still.topic) continue;
            for (const FenceMove* move : view.moves) {
                if (move->new_next == move->old_next || move->at_us < still.from_us) continue;
                moved.at([&, &partition = name] {
                    return joined.describe(partition) + " to " + std::to_string(move->new_next) +
                           ", " + std::to_string((move->at_us - still.from_us) / 1000) +
                           " ms too late";
                });
            }
        }
    }
    moved.into(violations);
    return violations;
}

}  // namespace onceward::checker
