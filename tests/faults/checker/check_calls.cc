// I9: leases, and the calls that were made under them.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

using Row = std::pair<int, std::string>;  // ledger, digest

bool any_leases(const Joined& joined) {
    return std::ranges::any_of(joined.evidence().topics, &TopicSettings::leases);
}

std::string describe(const LeaseMove& move) {
    return move.digest + ", audit row " + std::to_string(move.sequence) + ", by " + move.worker +
           ", session " + std::to_string(move.session);
}

// A released key belongs to no owner.
bool left_to_nobody(const LeaseMove& move) {
    return !move.claimed && move.new_owner == "00000000-0000-0000-0000-000000000000";
}

bool lets_go(const LeaseMove& move) {
    return !move.claimed && move.new_state == LeaseState::in_flight &&
           move.new_until_us <= move.at_us;
}

// Answered so, a call is never made again.
bool refused_for_good(const Call& call) {
    const bool passing = call.status == 408 || call.status == 425 || call.status == 429;
    return call.status >= 400 && call.status < 500 && !passing;
}

// How a call stands to the lease that it was made under.
enum class Standing : std::uint8_t {
    rightful,   // or under a lease that had run out and was taken over, which nobody can prevent
    unclaimed,  // its worker had not claimed the key, or had let it go
    late,       // its worker's own claim had ended
};

// `moves`: of its key, in their order.
Standing standing(const Call& call, const std::vector<const LeaseMove*>& moves) {
    const LeaseMove* claim = nullptr;  // the last one of this worker
    const LeaseMove* last = nullptr;
    bool let_go = false;
    for (const LeaseMove* move : moves) {
        if (move->at_us > call.at_us) break;
        last = move;
        if (move->claimed && move->worker == call.worker) {
            claim = move;
            let_go = false;
        } else if (claim != nullptr && move->old_owner == claim->new_owner && lets_go(*move)) {
            let_go = true;
        }
    }
    if (claim == nullptr || let_go) return Standing::unclaimed;
    const bool still = last->new_owner == claim->new_owner;
    return still && last->new_state != LeaseState::in_flight ? Standing::late : Standing::rightful;
}

// All of one idempotency key.
struct CalledKey {
    const Lease* lease = nullptr;
    std::vector<const LeaseMove*> moves;
    std::vector<const Call*> calls;
};

class Calls {
  public:
    explicit Calls(const Joined& joined) : joined_(joined) {
        std::map<std::uint64_t, const Message*> messages;
        for (const auto& [name, view] : joined.partitions()) {
            if (!joined.topic(name.topic).leases) continue;
            for (const Message& message : view.messages) messages[message.produced->id] = &message;
        }
        std::map<Row, int> keys;
        for (const Lease& lease : joined.evidence().leases) {
            const Message* message = joined.find(lease.place);
            if (message == nullptr) continue;  // I6 says so of those that are done
            keys[{lease.ledger, lease.digest}] = message->key;
            keys_[message->key].lease = &lease;
        }
        for (const LeaseMove& move : joined.evidence().lease_moves) {
            const auto key = keys.find({move.ledger, move.digest});
            if (key != keys.end()) keys_[key->second].moves.push_back(&move);
        }
        for (const Call& call : joined.evidence().calls) {
            const auto message = messages.find(call.message);
            if (message == messages.end()) {
                foreign_.at([&] { return "message " + std::to_string(call.message); });
            } else {
                keys_[message->second->key].calls.push_back(&call);
            }
        }
    }

    void check(Violations& violations) {
        for (auto& [key, called] : keys_) {
            std::ranges::sort(called.moves, {}, &LeaseMove::sequence);
            std::ranges::sort(called.calls, {}, &Call::at_us);
            check(key, called);
        }
        for (Finding* finding : {&foreign_, &unanswered_, &unrefused_, &silent_, &apart_, &more_,
                                 &unclaimed_, &late_, &two_keys_, &shared_}) {
            finding->into(violations);
        }
    }

  private:
    void check(int key, const CalledKey& called) {
        const auto where = [&] {
            return key < 0 ? "no key"
                           : joined_.describe(joined_.keys()[static_cast<std::size_t>(key)]);
        };
        const bool done = called.lease != nullptr && called.lease->state == LeaseState::done;
        const bool answered = std::ranges::any_of(called.calls, [](const Call* call) {
            return call->status >= 200 && call->status < 300;
        });
        if (done && !answered) unanswered_.at(where);
        check_failure(called, where);
        const int attempts = called.lease == nullptr ? 0 : called.lease->attempts;
        const auto counted =
            std::ranges::count_if(called.calls, [](const Call* call) { return !call->lost; });
        if (counted > attempts) {
            more_.at([&] {
                return where() + ": " + std::to_string(counted) + " calls, " +
                       std::to_string(attempts) + " tries";
            });
        }
        for (const Call* call : called.calls) {
            if (call->key != called.calls.front()->key) two_keys_.at(where);
            const bool seen = joined_.evidence().settings.audited && !call->lost;
            if (seen) check_standing(*call, called, where);
        }
        if (called.calls.empty()) return;
        if (!downstream_.insert(called.calls.front()->key).second) shared_.at(where);
    }

    // A permanent refusal is reported by a dead letter that is written with the key's end.
    template <typename Where>
    void check_failure(const CalledKey& called, const Where& where) {
        if (called.lease == nullptr || called.lease->state != LeaseState::failed) return;
        if (std::ranges::none_of(called.calls,
                                 [](const Call* call) { return refused_for_good(*call); })) {
            unrefused_.at(where);
        }
        const DeadLetter* letter = joined_.find(called.lease->place)->dead_letter;
        if (letter == nullptr) return silent_.at(where);
        const bool together = std::ranges::any_of(called.moves, [&](const LeaseMove* move) {
            return move->new_state == LeaseState::failed &&
                   move->transaction == letter->transaction;
        });
        if (joined_.evidence().settings.audited && !together) apart_.at(where);
    }

    template <typename Where>
    void check_standing(const Call& call, const CalledKey& called, const Where& where) {
        const auto who = [&] {
            return where() + " by " + call.worker + " at " + std::to_string(call.at_us);
        };
        switch (standing(call, called.moves)) {
            case Standing::rightful: break;
            case Standing::unclaimed: unclaimed_.at(who); break;
            case Standing::late: late_.at(who); break;
        }
    }

    const Joined& joined_;
    std::map<int, CalledKey> keys_;
    std::set<std::string> downstream_;
    Finding foreign_{"I9", "a call was made for what is no committed message"};
    Finding unanswered_{"I9", "a key is done, and no call of it was answered so"};
    Finding unrefused_{"I9", "a key has failed, and no call of it was refused for good"};
    Finding silent_{"I9", "a key has failed without a dead letter of its message"};
    Finding apart_{"I9", "a failed key and its dead letter are from different transactions"};
    Finding more_{"I9", "a key was called more often than its tries were written down"};
    Finding unclaimed_{"I9", "a key was called by who had no claim of it"};
    Finding late_{"I9", "a key was called again after it was done"};
    Finding two_keys_{"I9", "the calls of a key carry different keys"};
    Finding shared_{"I9", "the calls of two keys carry the same key"};
};

}  // namespace

Violations check_leases(const Joined& joined) {
    Violations violations;
    if (!any_leases(joined)) return violations;
    const Evidence& evidence = joined.evidence();
    Finding open("I9", "a key is in flight, and all has been passed");
    for (const Lease& lease : evidence.leases) {
        if (lease.state == LeaseState::in_flight) {
            open.at([&] { return joined.describe(lease.place); });
        }
    }
    open.into(violations);
    std::set<std::tuple<int, std::string, int>> claimers;  // ledger, owner, session
    for (const LeaseMove& move : evidence.lease_moves) {
        if (move.claimed) claimers.emplace(move.ledger, move.new_owner, move.session);
    }
    Finding taken("I9", "a lease was taken from another while it was in force");
    Finding reopened("I9", "a key was changed after it had ended");
    Finding stale("I9", "a lease was changed by a session that is not its owner's");
    for (const LeaseMove& move : evidence.lease_moves) {
        const auto where = [&] { return describe(move); };
        const bool made = move.old_owner.empty();
        const std::string& owner = left_to_nobody(move) ? move.old_owner : move.new_owner;
        const bool other = !made && owner != move.old_owner;
        if (other && move.old_until_us > move.at_us) taken.at(where);
        if (!made && move.old_state != LeaseState::in_flight) reopened.at(where);
        if (!move.claimed && !claimers.contains({move.ledger, owner, move.session})) {
            stale.at(where);
        }
    }
    taken.into(violations);
    reopened.into(violations);
    stale.into(violations);
    return violations;
}

Violations check_calls(const Joined& joined) {
    Violations violations;
    if (any_leases(joined)) Calls(joined).check(violations);
    return violations;
}

}  // namespace onceward::checker
