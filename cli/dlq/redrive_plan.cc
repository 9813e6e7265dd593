#include "cli/dlq/redrive_plan.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "schemas/queries.h"

namespace onceward {
namespace {

// A small limit does not make a query for each few letters.
constexpr std::int64_t fewest_selected = 100;

bool is_exhausted(const Letter& letter, const RedriveRules& rules) {
    return letter.redrives >= rules.tries_max;
}

// A rewind or a replay may have applied a letter that is resolved. If a letter is open again, a
// copy that was sent before may have been applied.
bool is_in_doubt(const Letter& letter, const RedriveRules& rules) {
    return (letter.state != "open" || letter.sent_before) && rules.keys_are_places;
}

// DANGER: a copy that is sent after the first one's claim has expired is applied again.
bool may_go(const Letter& letter, const RedriveRules& rules) {
    const bool uncertain = is_in_doubt(letter, rules) || letter.forgotten;
    return !is_exhausted(letter, rules) && (rules.may_repeat || !uncertain);
}

// Keeps only counts and record keys of the letters that stay: there may be very many.
class Planner {
  public:
    explicit Planner(const RedriveRules& rules) : rules_(rules) {}

    // Returns whether the letter goes, as far as is known yet.
    bool add(Letter letter) {
        if (!may_go(letter, rules_)) {
            leave(letter);
            return false;
        }
        if (is_held(letter)) {
            ++plan_.behind;
            return false;
        }
        plan_.letters.push_back(std::move(letter));
        return true;
    }

    // Those that go. A letter that was added later may have kept the key of an earlier one.
    const std::vector<Letter>& letters() {
        plan_.behind += static_cast<std::int64_t>(
            std::erase_if(plan_.letters, [&](const Letter& letter) { return is_held(letter); }));
        return plan_.letters;
    }

    RedrivePlan plan() {
        letters();
        if (rules_.by_key) {
            std::ranges::stable_sort(plan_.letters, {}, [](const Letter& letter) {
                return std::tuple(letter.partition.raw(), letter.offset.raw());
            });
        }
        return std::move(plan_);
    }

  private:
    bool is_held(const Letter& letter) const {
        return rules_.by_key && letter.record_key && held_.contains(*letter.record_key);
    }

    void leave(const Letter& letter) {
        if (is_exhausted(letter, rules_)) {
            ++plan_.exhausted;
        } else {
            ++plan_.uncertain;
            if (!is_in_doubt(letter, rules_)) ++plan_.forgotten;
        }
        if (rules_.by_key && holds_its_key(letter)) held_.insert(*letter.record_key);
    }

    const RedriveRules& rules_;
    std::set<std::string> held_;  // record keys
    RedrivePlan plan_;
};

}  // namespace

RedrivePlan plan_redrive(std::vector<Letter> letters, const RedriveRules& rules) {
    Planner planner(rules);
    for (Letter& letter : letters) planner.add(std::move(letter));
    return planner.plan();
}

RedrivePlan pick_for_redrive(Connection& connection, DeadLetterFilter filter,
                             const RedriveRules& rules) {
    const std::int64_t most = filter.limit;
    filter.limit = std::max(most, fewest_selected);
    Planner planner(rules);
    std::int64_t going = 0;
    for (bool more = true; more && going < most;) {
        std::vector<Letter> letters = select_letters(connection, filter);
        more = static_cast<std::int64_t>(letters.size()) == filter.limit;
        if (more) filter.after = letters.back().number;
        for (Letter& letter : letters) {
            if (going == most) break;
            if (planner.add(std::move(letter))) ++going;
        }
    }
    if (rules.by_key && !planner.letters().empty()) {
        const QueryResult rows = connection.query(
            sql::dlq_of_keys,
            Parameters{filter.group, filter.topic, numbers_of(planner.letters())});
        DeadLetterFilter same{.group = filter.group, .topic = filter.topic, .limit = rows.rows()};
        for (int row = 0; row < rows.rows(); ++row) same.numbers.push_back(rows.integer(row, 0));
        // DANGER: a filter without numbers picks all.
        if (!same.numbers.empty()) {
            for (Letter& letter : select_letters(connection, same)) planner.add(std::move(letter));
        }
    }
    RedrivePlan plan = planner.plan();
    plan.limit_reached = going == most;
    return plan;
}

}  // namespace onceward
