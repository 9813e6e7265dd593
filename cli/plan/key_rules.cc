#include "cli/plan/key_rules.h"

#include <algorithm>

#include "cli/terminal/quantities.h"

namespace onceward {
namespace {

using Level = Consequence::Level;

// What names a key: another value makes every key a new one.
constexpr const char* names_of_keys[] = {"key.sources", "key.operation", "key.tenant"};
constexpr const char* of_ledger[] = {"ledger.name", "ledger.store", "ledger.reach",
                                     "ledger.retention"};
constexpr const char* of_fingerprint[] = {"key.fingerprint", "key.minted_at"};

template <std::size_t count>
bool is_one_of(const char* const (&names)[count], const std::string& option) {
    return std::ranges::find(names, option) != std::end(names);
}

// A ledger as it is now: as PostgreSQL has it, else as it was configured.
std::optional<LedgerFacts> known_ledger(const KeyChange& change, const std::string& name) {
    const auto fact = change.facts.ledgers.find(name);
    if (fact != change.facts.ledgers.end()) return fact->second;
    if (change.now_whole == nullptr) return std::nullopt;
    const auto configured = change.now_whole->ledgers.find(name);
    if (configured == change.now_whole->ledgers.end()) return std::nullopt;
    const LedgerOptions& options = configured->second;
    return LedgerFacts{.store = std::string(to_text(options.store)),
                       .reach = options.reach == Reach::global ? "global" : "partition",
                       .retention = options.retention};
}

std::string claims_text(const KeyChange& change, const std::string& ledger) {
    const auto fact = change.facts.ledgers.find(ledger);
    if (fact == change.facts.ledgers.end()) return "the claims of ledger `" + ledger + "`";
    const LedgerFacts& facts = fact->second;
    const bool one = facts.counted && facts.claims == 1;
    return (facts.counted ? "" : "about ") + count_text(static_cast<double>(facts.claims)) +
           (one ? " claim" : " claims");
}

Consequence new_keys(const KeyChange& change, const std::string& option,
                     const std::string& ledger) {
    return {.level = Level::danger,
            .topic = change.next.name,
            .option = option,
            .text = "every key becomes new: " + claims_text(change, ledger) +
                    " would not be found, and a message that is repeated would be applied again",
            .instead = "keep it; or change it when nothing that was applied can be repeated: one "
                       "retention after the last message with an old key"};
}

// The ledger that the topic's claims are in now; '' if it has none.
std::string ledger_now(const KeyChange& change) {
    if (change.now != nullptr) return change.now->ledger;
    const auto fact = change.facts.topics.find(change.next.name);
    if (fact == change.facts.topics.end()) return "";
    const std::vector<std::string>& fed = fact->second.ledgers;
    if (fed.empty() || std::ranges::find(fed, change.next.ledger) != fed.end()) return "";
    return fed.front();
}

void judge_retention(const KeyChange& change, std::chrono::seconds now, std::chrono::seconds next,
                     std::vector<Consequence>& found) {
    const std::string both =
        duration_text(next) + " instead of " + duration_text(now);
    Consequence made{.level = Level::restart,
                     .topic = change.next.name,
                     .option = "ledger.retention",
                     .text = "claims are kept for " + both +
                             ": the ledger takes more disk, and what was dropped does not return"};
    if (next < now) {
        made.level = Level::danger;
        made.text = "claims are dropped after " + both +
                    ": a message that is repeated later than that would be applied again";
        made.instead = "keep it as long as the longest rewind, replay or delay of a sender";
    }
    found.push_back(std::move(made));
}

void judge_ledger(const KeyChange& change, std::vector<Consequence>& found) {
    const LedgerOptions& next = change.next_whole.ledgers.at(change.next.ledger);
    const std::string before = ledger_now(change);
    if (!before.empty() && before != next.name) {
        found.push_back(new_keys(change, "ledger.name", before));
    }
    const auto known = known_ledger(change, next.name);
    if (!known) return;
    const auto refused = [&](const char* option, const std::string& has,
                             const std::string& instead =
                                 "keep it; or name another ledger, which begins empty") {
        found.push_back({.level = Level::danger,
                         .topic = change.next.name,
                         .option = option,
                         .text = "the topic would halt: the ledger `" + next.name + "` has `" +
                                 has + "`, which cannot be changed by this",
                         .instead = instead});
    };
    const bool to_log = known->store == "table" && only_log(next);
    const bool keeps_it =
        next.any_store ? known->store != "lease" : known->store == to_text(next.store);
    if (to_log) {
        refused("ledger.store", known->store,
                "remove it, restart the workers, and then run `onceward ledger convert`");
    } else if (!keeps_it) {
        refused("ledger.store", known->store);
    } else if (std::ranges::find(change.options, "ledger.store") != change.options.end()) {
        found.push_back({.level = Level::restart,
                         .topic = change.next.name,
                         .option = "ledger.store",
                         .text = "claims are kept as before, in the `" + known->store +
                                 "` that the ledger is"});
    }
    const bool global = next.reach == Reach::global;
    if (known->reach != (global ? "global" : "partition")) {
        if (!global) {
            refused("ledger.reach", known->reach);
        } else {
            found.push_back({.level = Level::restart,
                             .topic = change.next.name,
                             .option = "ledger.reach",
                             .text = "duplicates are found in all partitions, for good: it cannot "
                                     "be changed back"});
        }
    }
    if (known->retention != next.retention) {
        judge_retention(change, known->retention, next.retention, found);
    }
}

bool has_fingerprint(const KeyOptions& key) {
    return key.fingerprint.of != FingerprintOptions::Of::none ||
           key.minted_at.kind != MintedSource::Kind::none;
}

void judge_fingerprint(const KeyChange& change, const std::string& option,
                       std::vector<Consequence>& found) {
    const KeyOptions& now = change.now->key;
    const KeyOptions& next = change.next.key;
    Consequence made{.level = Level::restart,
                     .topic = change.next.name,
                     .option = option,
                     .text = "only keys that are claimed from now on are compared"};
    if (has_fingerprint(now) && has_fingerprint(next)) {
        made.level = Level::danger;
        made.text = "every repeat of a claimed key becomes a conflict: " +
                    claims_text(change, change.now->ledger) + " have the old fingerprint";
        made.instead = "write `none` for one retention in between";
    } else if (!has_fingerprint(next)) {
        made.text = "a repeat is a duplicate whatever it contains";
    }
    if (option == "key.minted_at" && next.minted_at.kind == MintedSource::Kind::none) {
        made.level = Level::danger;
        made.text = "a key that is older than what the ledger remembers is taken for a new one, "
                    "and its message would be applied again";
        made.instead = "keep it";
    }
    found.push_back(std::move(made));
}

}  // namespace

bool is_of_keys(const std::string& option) {
    return is_one_of(names_of_keys, option) || is_one_of(of_ledger, option) ||
           is_one_of(of_fingerprint, option);
}

std::vector<Consequence> judge_keys(const KeyChange& change) {
    std::vector<Consequence> found;
    judge_ledger(change, found);
    for (const std::string& option : change.options) {
        if (is_one_of(names_of_keys, option)) {
            found.push_back(new_keys(change, option, change.now->ledger));
        } else if (is_one_of(of_fingerprint, option)) {
            judge_fingerprint(change, option, found);
        }
    }
    return found;
}

}  // namespace onceward
