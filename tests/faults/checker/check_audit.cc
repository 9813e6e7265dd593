// I4, I5: what the audit's rows tell of transactions and owners.

#include <map>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

// The owners of one partition, in the order of commits.
class Owners {
  public:
    enum class Found : std::uint8_t { right, old_owner, same_epoch, other_session };

    Found next(const FenceMove& move, bool one_session_each) {
        if (move.old_owner.empty()) {
            sessions_.emplace(move.new_owner, 0);
            return Found::right;
        }
        if (move.new_owner != move.old_owner) {
            const bool fresh =
                sessions_.emplace(move.new_owner, move.by_operator ? 0 : move.session).second;
            if (!fresh) return Found::old_owner;
            // An operator who retires a fence leaves it to nobody, and moves nothing.
            const bool retired = move.by_operator && move.new_next == move.old_next;
            return move.new_epoch > move.old_epoch || retired ? Found::right : Found::same_epoch;
        }
        if (move.new_next == move.old_next || move.by_operator) return Found::right;
        const auto taken = sessions_.find(move.new_owner);
        // The history may begin in the middle: then the first move tells the owner's session.
        if (taken == sessions_.end()) {
            sessions_.emplace(move.new_owner, move.session);
            return Found::right;
        }
        return taken->second == move.session || !one_session_each ? Found::right
                                                                  : Found::other_session;
    }

  private:
    std::map<std::string, int> sessions_;  // 0: no session may move the fence under this owner
};

}  // namespace

Violations check_transactions(const Joined& joined) {
    Violations violations;
    if (!joined.evidence().settings.audited) return violations;
    Finding rows("I4", "a row's transaction has not moved the fence over its message");
    for (const Effect& effect : joined.evidence().effects) {
        // Others have overwritten the rows of an upsert; its claims tell.
        if (joined.topic(effect.place.topic).upsert) continue;
        if (joined.move_over(effect.place, effect.transaction) == nullptr) {
            rows.at([&] { return joined.describe(effect.place); });
        }
    }
    rows.into(violations);
    Finding claims("I4", "a claim's transaction has not moved the fence over its message");
    for (const Claim& claim : joined.evidence().claims) {
        if (joined.move_over(claim.place, claim.transaction) == nullptr) {
            claims.at([&] { return joined.describe(claim.place); });
        }
    }
    claims.into(violations);
    Finding letters("I4", "a dead letter's transaction has not moved the fence over its message");
    for (const DeadLetter& letter : joined.evidence().dead_letters) {
        // One that comes with a lease's end may come before the fence passes its message: see I9.
        const Message* message = joined.find(letter.place);
        if (message != nullptr && message->failed) continue;
        if (joined.move_over(letter.place, letter.transaction) == nullptr) {
            letters.at([&] { return joined.describe(letter.place); });
        }
    }
    letters.into(violations);
    return violations;
}

Violations check_owners(const Evidence& evidence) {
    Violations violations;
    Finding old_owner("I5", "an owner that had lost the fence holds it again");
    Finding same_epoch("I5", "a take-over did not raise the epoch");
    Finding other("I5", "a fence was moved by a session that had not taken it");
    std::map<PartitionName, std::map<std::int64_t, const FenceMove*>> moves;
    for (const FenceMove& move : evidence.moves) moves[move.name][move.sequence] = &move;
    for (const auto& [name, chain] : moves) {
        Owners owners;
        for (const auto& [sequence, move] : chain) {
            const auto where = [&, row = sequence, &partition = name] {
                const auto topic = static_cast<std::size_t>(partition.topic);
                return (topic < evidence.topics.size() ? evidence.topics[topic].name : "") + "/" +
                       std::to_string(partition.partition) + ", audit row " + std::to_string(row) +
                       ", owner " + move->new_owner + ", session " + std::to_string(move->session);
            };
            switch (owners.next(*move, evidence.settings.one_session_each)) {
                case Owners::Found::right: break;
                case Owners::Found::old_owner: old_owner.at(where); break;
                case Owners::Found::same_epoch: same_epoch.at(where); break;
                case Owners::Found::other_session: other.at(where); break;
            }
        }
    }
    old_owner.into(violations);
    same_epoch.into(violations);
    other.into(violations);
    return violations;
}

}  // namespace onceward::checker
