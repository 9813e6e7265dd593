// I6, I8: claims with effects, and what retention took away.

#include <algorithm>
#include <set>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

// Whether a generation that is gone may have held the claim of what was applied at that time. The
// audit tells; without it any gap among the generations excuses it.
bool may_be_dropped(const Joined& joined, std::int64_t applied_at) {
    if (!joined.generations_dropped()) return false;
    const std::vector<GenerationDrop>& drops = joined.evidence().drops;
    if (drops.empty() || applied_at == 0) return true;
    return std::ranges::any_of(
        drops, [&](const GenerationDrop& drop) { return drop.sealed_us >= applied_at; });
}

// Whether an operator took its claim out, which can only be after it was applied.
bool was_forgotten(const Joined& joined, const Message& message) {
    if (message.key < 0) return false;
    const std::int64_t applied = joined.applied_at(message);
    return std::ranges::any_of(
        joined.keys()[static_cast<std::size_t>(message.key)].forgotten,
        [&](const KeyCommand* command) { return applied != 0 && command->to_us >= applied; });
}

void check_each_claim(const Joined& joined, Violations& violations) {
    Finding of_none("I6", "a claim is that of no committed message");
    Finding without("I6", "a claim has no effect");
    Finding two("I6", "a message has two claims");
    Finding apart("I6", "claim and effect are from different transactions");
    std::set<Place> seen;
    for (const Claim& claim : joined.evidence().claims) {
        const auto where = [&] { return joined.describe(claim.place); };
        const Message* message = joined.find(claim.place);
        if (message == nullptr) {
            of_none.at(where);
            continue;
        }
        if (message->claims > 1 && seen.insert(claim.place).second) two.at(where);
        // The rows of an upsert are overwritten by others; calls leave none.
        if (joined.claims_alone(claim.place.topic)) continue;
        if (message->effect == nullptr) {
            without.at([&] { return joined.describe(*message); });
        } else if (message->effect->transaction != claim.transaction) {
            apart.at([&] { return joined.describe(*message); });
        }
    }
    of_none.into(violations);
    without.into(violations);
    two.into(violations);
    apart.into(violations);
}

// Two claims of one key that stand in one ledger at once, whatever became of the rows.
void check_digests(const Joined& joined, Violations& violations) {
    Finding twice("I6", "two generations of one ledger hold the same digest");
    std::vector<std::pair<int, std::string_view>> digests;
    for (const Claim& claim : joined.evidence().claims) {
        if (!claim.digest.empty()) digests.emplace_back(claim.ledger, claim.digest);
    }
    std::ranges::sort(digests);
    for (std::size_t i = 1; i < digests.size(); ++i) {
        const bool whole = !joined.evidence().settings.retention_us.has_value();
        if (whole && digests[i] == digests[i - 1]) {
            twice.at([&] { return std::string(digests[i].second); });
        }
    }
    twice.into(violations);
}

// Ledgers' numbers that a topic feeds, as the fences tell.
std::set<int> ledgers_of(const Joined& joined, int topic) {
    std::set<int> ledgers;
    for (const auto& [name, view] : joined.partitions()) {
        if (name.topic == topic && view.fence != nullptr) ledgers.insert(view.fence->ledger);
    }
    return ledgers;
}

void check_drop(const Joined& joined, const GenerationDrop& drop, std::int64_t retention,
                Finding& needed) {
    for (const auto& [name, view] : joined.partitions()) {
        const std::set<int> ledgers = ledgers_of(joined, name.topic);
        if (!ledgers.contains(drop.ledger) && !ledgers.contains(0)) continue;
        const bool known = std::ranges::any_of(
            drop.fences, [&](const auto& fence) { return fence.first.topic == name.topic; });
        if (!known) continue;  // the topic fed nothing yet
        const auto fence = drop.fences.find(name);
        const std::int64_t passed = fence == drop.fences.end() ? 0 : fence->second;
        auto message = std::ranges::lower_bound(view.messages, passed, {},
                                                [](const Message& m) { return m.place.offset; });
        for (; message != view.messages.end(); ++message) {
            const std::int64_t readable = message->produced->acknowledged_us;
            if (readable != 0 && readable <= drop.sealed_us + retention) {
                needed.at([&] {
                    return "generation " + std::to_string(drop.generation) + " of ledger " +
                           std::to_string(drop.ledger) + ", " + joined.describe(*message);
                });
            }
        }
    }
}

}  // namespace

Violations check_claims(const Joined& joined) {
    Violations violations;
    check_each_claim(joined, violations);
    check_digests(joined, violations);
    Finding without("I6", "an effect has no claim");
    for (const auto& [name, view] : joined.partitions()) {
        if (joined.topic(name.topic).upsert) continue;
        for (const Message& message : view.messages) {
            if (message.effect == nullptr || message.claims > 0) continue;
            if (!may_be_dropped(joined, joined.applied_at(message)) &&
                !was_forgotten(joined, message)) {
                without.at([&] { return joined.describe(message); });
            }
        }
    }
    without.into(violations);
    return violations;
}

Violations check_retention(const Joined& joined) {
    Violations violations;
    const Evidence& evidence = joined.evidence();
    Finding any("I8", "a generation is gone, and the retention is longer than the run");
    if (!evidence.settings.retention_us) {
        if (joined.generations_dropped()) any.at([] { return "see the generations' numbers"; });
        any.into(violations);
        return violations;
    }
    const std::int64_t retention = *evidence.settings.retention_us;
    Finding early("I8", "a generation was dropped before its retention had ended by any clock");
    Finding needed("I8", "a generation was dropped before a message that could need it was passed");
    Finding gone("I8", "the claim of an effect was dropped within the retention");
    for (const GenerationDrop& drop : evidence.drops) {
        if (drop.dropped_us < drop.sealed_us + retention) {
            early.at([&] { return "generation " + std::to_string(drop.generation); });
        }
        check_drop(joined, drop, retention, needed);
    }
    for (const auto& [name, view] : joined.partitions()) {
        if (joined.topic(name.topic).upsert || evidence.drops.empty()) continue;
        for (const Message& message : view.messages) {
            if (message.effect == nullptr || message.claims > 0) continue;
            const std::int64_t applied = joined.applied_at(message);
            const bool excused =
                applied == 0 || std::ranges::any_of(evidence.drops, [&](const auto& drop) {
                    return drop.sealed_us >= applied && drop.dropped_us >= applied + retention;
                });
            if (!excused) gone.at([&] { return joined.describe(message); });
        }
    }
    early.into(violations);
    needed.into(violations);
    gone.into(violations);
    return violations;
}

}  // namespace onceward::checker
