#include "cli/dlq/redrive_plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "schemas/queries.h"

namespace onceward {

RedrivePlan plan_redrive(std::vector<Letter> letters, const RedriveRules& rules) {
    RedrivePlan plan;
    std::set<std::string> held;  // record keys
    const auto goes = [&](const Letter& letter) {
        const bool exhausted = letter.redrives >= rules.tries_max;
        // A rewind or a replay may have applied a letter that is resolved. If a letter is open
        // again, a copy that was sent before may have been applied.
        const bool in_doubt =
            (letter.state != "open" || letter.sent_before) && rules.keys_are_places;
        // DANGER: a copy that is sent after the first one's claim has expired is applied again.
        const bool uncertain = (in_doubt || letter.forgotten) && !rules.may_repeat;
        if (exhausted) {
            ++plan.exhausted;
        } else if (uncertain) {
            ++plan.uncertain;
            if (!in_doubt) ++plan.forgotten;
        }
        return !exhausted && !uncertain;
    };
    for (Letter& letter : letters) {
        if (goes(letter)) {
            plan.letters.push_back(std::move(letter));
        } else if (holds_its_key(letter)) {
            held.insert(*letter.record_key);
        }
    }
    if (!rules.by_key) return plan;
    plan.behind = static_cast<std::int64_t>(std::erase_if(plan.letters, [&](const Letter& letter) {
        return letter.record_key && held.contains(*letter.record_key);
    }));
    std::ranges::stable_sort(plan.letters, {}, [](const Letter& letter) {
        return std::tuple(letter.partition.raw(), letter.offset.raw());
    });
    return plan;
}

std::vector<Letter> select_for_redrive(Connection& connection, const DeadLetterFilter& filter,
                                       bool by_key) {
    std::vector<Letter> letters = select_letters(connection, filter);
    if (!by_key || letters.empty()) return letters;
    const QueryResult rows = connection.query(
        sql::dlq_of_keys, Parameters{filter.group, filter.topic, numbers_of(letters)});
    DeadLetterFilter more{.group = filter.group, .topic = filter.topic, .limit = rows.rows()};
    for (int row = 0; row < rows.rows(); ++row) more.numbers.push_back(rows.integer(row, 0));
    if (more.numbers.empty()) return letters;
    for (Letter& letter : select_letters(connection, more)) letters.push_back(std::move(letter));
    return letters;
}

}  // namespace onceward
