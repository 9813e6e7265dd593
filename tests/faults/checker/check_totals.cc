// I15, I16: the order of a sink's rows, and the totals in the fences.

#include <algorithm>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

std::string text(const Totals& totals) {
    return std::to_string(totals.applied) + " applied, " + std::to_string(totals.duplicates) +
           " duplicates, " + std::to_string(totals.conflicts) + " conflicts, " +
           std::to_string(totals.dead_lettered) + " dead letters, " +
           std::to_string(totals.skipped) + " skipped";
}

// The totals that the messages between two offsets come to, and how far they may be off: messages
// that were compacted away may have been counted, and those of a skipped range too.
struct Expected {
    Totals totals;
    std::int64_t vanished = 0;
    std::int64_t in_ranges = 0;
    bool takes(std::int64_t sum) const {
        return sum >= totals.sum() && sum <= totals.sum() + vanished + in_ranges;
    }
};

void add(const Message& message, Expected& expected) {
    switch (message.outcome) {
        case Outcome::waiting: break;
        case Outcome::applied: ++expected.totals.applied; break;
        // I3 tells of those that are nowhere. Here they are what a wrong count would hide them as.
        case Outcome::nowhere:
        case Outcome::duplicate:
            if (message.in_log) {
                ++expected.totals.duplicates;
            } else {
                ++expected.vanished;
            }
            break;
        case Outcome::conflict: ++expected.totals.conflicts; break;
        case Outcome::dead_letter: ++expected.totals.dead_lettered; break;
        case Outcome::skipped: ++expected.totals.skipped; break;
        case Outcome::skipped_range: ++expected.in_ranges; break;
        case Outcome::vanished: ++expected.vanished; break;
    }
}

Expected expected_between(const PartitionView& view, std::int64_t begin, std::int64_t end) {
    Expected expected;
    auto message = std::ranges::lower_bound(view.messages, begin, {},
                                            [](const Message& m) { return m.place.offset; });
    for (; message != view.messages.end() && message->place.offset < end; ++message) {
        add(*message, expected);
    }
    return expected;
}

// Each outcome by itself, where nothing makes it uncertain.
bool equal(const Expected& expected, Totals found, bool claims_gone) {
    Totals wanted = expected.totals;
    if (claims_gone) {
        wanted.applied += wanted.duplicates;
        wanted.duplicates = 0;
        found.applied += found.duplicates;
        found.duplicates = 0;
    }
    const std::int64_t duplicates = found.duplicates - wanted.duplicates;
    const std::int64_t skipped = found.skipped - wanted.skipped;
    return found.applied == wanted.applied && found.conflicts == wanted.conflicts &&
           found.dead_lettered == wanted.dead_lettered && duplicates >= 0 &&
           duplicates <= expected.vanished && skipped >= 0 && skipped <= expected.in_ranges;
}

void check_fence_totals(const Joined& joined, Violations& violations) {
    Finding sum("I16", "a fence's totals do not add up to the messages that it has passed");
    Finding each("I16", "a fence's totals are not what became of its messages");
    for (const auto& [name, view] : joined.partitions()) {
        if (view.fence == nullptr || joined.evidence().settings.rewound) continue;
        const Totals& totals = view.fence->totals;
        const Expected expected =
            expected_between(view, view.fence->first_offset, view.fence->next_offset);
        const auto where = [&, &partition = name] {
            return joined.describe(partition) + ": " + text(totals) + "; expected " +
                   text(expected.totals);
        };
        const bool gone = joined.topic(name.topic).upsert && joined.generations_dropped();
        if (!expected.takes(totals.sum())) {
            sum.at(where);
        } else if (!equal(expected, totals, gone)) {
            each.at(where);
        }
    }
    sum.into(violations);
    each.into(violations);
}

Totals plus(const Totals& left, const Totals& right) {
    return {left.applied + right.applied, left.duplicates + right.duplicates,
            left.conflicts + right.conflicts, left.dead_lettered + right.dead_lettered,
            left.skipped + right.skipped};
}

// The same for each transaction by itself, and all of them together.
void check_move_totals(const Joined& joined, Violations& violations) {
    Finding wrong("I16", "a move's counts do not add up to the messages that it has passed");
    Finding apart("I16", "a fence's totals are not the sum of its moves");
    for (const auto& [name, view] : joined.partitions()) {
        Totals counted;
        bool whole = false;
        for (const FenceMove* move : view.moves) {
            whole = whole || move->old_owner.empty();
            counted = plus(counted, move->counted);
            if (move->by_operator) continue;
            const Expected expected = expected_between(view, move->old_next, move->new_next);
            if (!expected.takes(move->counted.sum())) {
                wrong.at([&, &partition = name] {
                    return joined.describe(partition) + " " + std::to_string(move->old_next) +
                           " to " + std::to_string(move->new_next) + ": " + text(move->counted);
                });
            }
        }
        if (whole && view.fence != nullptr && counted != view.fence->totals) {
            apart.at([&, &partition = name] {
                return joined.describe(partition) + ": " + text(view.fence->totals) + "; moves " +
                       text(counted);
            });
        }
    }
    wrong.into(violations);
    apart.into(violations);
}

}  // namespace

Violations check_order(const Joined& joined) {
    Violations violations;
    if (joined.evidence().settings.rewound) return violations;
    std::map<PartitionName, std::vector<const Effect*>> rows;
    for (const Effect& effect : joined.evidence().effects) {
        if (effect.landed == 0 || joined.topic(effect.place.topic).upsert) continue;
        rows[effect.place.in()].push_back(&effect);
    }
    Finding disorder("I15", "rows of a partition are not in the order of offsets");
    for (auto& [name, effects] : rows) {
        std::ranges::sort(effects, {}, &Effect::landed);
        for (std::size_t i = 1; i < effects.size(); ++i) {
            if (effects[i]->place.offset > effects[i - 1]->place.offset) continue;
            disorder.at([&] {
                return joined.describe(effects[i]->place) + " landed after " +
                       joined.describe(effects[i - 1]->place);
            });
        }
    }
    disorder.into(violations);
    return violations;
}

Violations check_totals(const Joined& joined) {
    Violations violations;
    check_fence_totals(joined, violations);
    if (joined.evidence().settings.audited) check_move_totals(joined, violations);
    return violations;
}

}  // namespace onceward::checker
