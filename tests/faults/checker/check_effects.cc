// I1: one effect for each key that can have one, one outcome for each message.

#include <algorithm>
#include <set>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"
#include "tests/faults/checker/twice.h"

namespace onceward::checker {
namespace {

std::string name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::waiting: return "waiting";
        case Outcome::applied: return "applied";
        case Outcome::duplicate: return "duplicate";
        case Outcome::conflict: return "conflict";
        case Outcome::dead_letter: return "dead letter";
        case Outcome::skipped: return "skipped";
        case Outcome::skipped_range: return "in a skipped range";
        case Outcome::vanished: return "vanished";
        case Outcome::nowhere: return "nowhere";
    }
    return "";
}

// What the configuration and the message's nature allow. Nowhere is I3's matter.
bool fits(const Joined& joined, const Message& message) {
    const TopicSettings& settings = joined.topic(message.place.topic);
    const Outcome outcome = message.outcome;
    if (outcome == Outcome::waiting || outcome == Outcome::vanished ||
        outcome == Outcome::nowhere || outcome == Outcome::skipped_range) {
        return true;
    }
    if (outcome == Outcome::duplicate && joined.differs(message)) return false;
    // I9 looks into that.
    if (outcome == Outcome::dead_letter && message.failed) return joined.can_be_applied(message);
    const bool once = outcome == Outcome::applied || outcome == Outcome::duplicate;
    const auto by = [&](Policy policy) {
        switch (policy) {
            case Policy::reject: return outcome == Outcome::dead_letter;
            case Policy::skip: return outcome == Outcome::skipped;
            case Policy::derive:
            case Policy::remove: return once;
        }
        return false;
    };
    switch (message.produced->nature) {
        case Nature::good: return once || outcome == Outcome::conflict;
        case Nature::undecodable:
            return outcome == Outcome::dead_letter ||
                   (outcome == Outcome::duplicate && !settings.key_in_payload);
        case Nature::refused:
            return outcome == Outcome::dead_letter || outcome == Outcome::duplicate;
        case Nature::uncertain: return once || outcome == Outcome::dead_letter;
        case Nature::tombstone: return by(settings.tombstones);
        case Nature::without_key: return by(settings.without_key);
    }
    return false;
}

void check_keys(const Joined& joined, Violations& violations) {
    Finding missing("I1", "a key of which a message could be applied has no effect");
    for (const Key& key : joined.keys()) {
        if (joined.is_lost(key)) missing.at([&] { return "key " + joined.describe(key); });
    }
    missing.into(violations);
    Finding twice("I1", "a key has more than one effect");
    for (const TwiceApplied& applied : twice_applied(joined)) {
        twice.at([&] {
            return "key " + joined.describe(joined.keys()[static_cast<std::size_t>(applied.key)]) +
                   " again by " + joined.describe(applied.again);
        });
    }
    twice.into(violations);
    Finding known("I1", "a key was applied that an operator had imported before");
    for (const auto& [name, view] : joined.partitions()) {
        for (const Message& message : view.messages) {
            if (message.key < 0 || joined.times_applied(message) == 0) continue;
            const KeyCommand* import =
                joined.keys()[static_cast<std::size_t>(message.key)].imported;
            if (import == nullptr || import->what != KeyCommand::What::imported) continue;
            if (joined.applied_at(message) > import->to_us) {
                known.at([&] { return joined.describe(message); });
            }
        }
    }
    known.into(violations);
}

void check_messages(const Joined& joined, Violations& violations) {
    Finding unfit("I1", "a message became what it must not become");
    Finding two("I1", "a message is in two places");
    for (const auto& [name, view] : joined.partitions()) {
        for (const Message& message : view.messages) {
            if (!fits(joined, message)) {
                unfit.at(
                    [&] { return joined.describe(message) + " is " + name_of(message.outcome); });
            }
            // An operator may have sent it again.
            const bool skipped = message.in_range && !joined.evidence().settings.rewound;
            const int places = (joined.times_applied(message) > 0 ? 1 : 0) +
                               (message.dead_letters > 0 ? 1 : 0) + (skipped ? 1 : 0);
            if (places > 1 && !joined.evidence().settings.rewound) {
                two.at([&] { return joined.describe(message); });
            }
        }
    }
    unfit.into(violations);
    two.into(violations);
}

// The other way round: each row is the effect of the message that it names.
void check_rows(const Joined& joined, Violations& violations) {
    Finding of_none("I1", "a row is the effect of no committed message");
    Finding of_other("I1", "a row does not hold the message that is at its place");
    Finding other_key("I1", "a row holds another key than its message");
    for (const Effect& effect : joined.evidence().effects) {
        const auto where = [&] {
            return joined.describe(effect.place) + " message " + std::to_string(effect.id);
        };
        const Message* message = joined.find(effect.place);
        if (message == nullptr) {
            of_none.at(where);
        } else if (message->produced->id != effect.id) {
            of_other.at(where);
        } else if (effect.key && *effect.key != message->produced->key) {
            other_key.at(where);
        }
    }
    of_none.into(violations);
    of_other.into(violations);
    other_key.into(violations);
}

// An upsert's row is what the last applied message of its target wrote. Which partition's last one
// that was is left to chance.
void check_upserts(const Joined& joined, Violations& violations) {
    struct Target {
        std::map<PartitionName, const Message*> last;
        const Effect* row = nullptr;
    };
    std::map<std::pair<int, std::string>, Target> targets;
    for (const auto& [name, view] : joined.partitions()) {
        if (!joined.topic(name.topic).upsert) continue;
        for (const Message& message : view.messages) {
            if (message.claims == 0) continue;
            targets[{name.topic, message.produced->target}].last[name] = &message;
        }
    }
    for (const Effect& effect : joined.evidence().effects) {
        if (!joined.topic(effect.place.topic).upsert || !effect.target) continue;
        targets[{effect.place.topic, *effect.target}].row = &effect;
    }
    if (joined.generations_dropped()) return;
    Finding wrong("I1", "an upsert's row is not that of a last applied message");
    for (const auto& [name, target] : targets) {
        const bool right = std::ranges::any_of(target.last, [&](const auto& entry) {
            const bool removed = entry.second->produced->nature == Nature::tombstone;
            return removed ? target.row == nullptr
                           : target.row != nullptr && target.row->id == entry.second->produced->id;
        });
        if (!right) {
            wrong.at([&, text = name.second, topic = name.first] {
                return joined.topic(topic).name + " row '" + text + "'" +
                       (target.row == nullptr ? " is not there"
                                              : " holds " + joined.describe(target.row->place));
            });
        }
    }
    wrong.into(violations);
}

}  // namespace

Violations check_effects(const Joined& joined) {
    Violations violations;
    check_keys(joined, violations);
    check_messages(joined, violations);
    check_rows(joined, violations);
    check_upserts(joined, violations);
    return violations;
}

}  // namespace onceward::checker
