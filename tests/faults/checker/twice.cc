#include "tests/faults/checker/twice.h"

#include <algorithm>

namespace onceward::checker {
namespace {

bool beyond_the_window(const Joined& joined, const Message& first, const Message& second) {
    const auto& retention = joined.evidence().settings.retention_us;
    const std::int64_t applied = joined.applied_at(first);
    // Without times nothing is excused.
    return retention && applied != 0 && second.produced->acknowledged_us != 0 &&
           second.produced->acknowledged_us > applied + *retention;
}

// Whether an operator took the claim out between the two; each time allows one effect more.
bool forgotten_between(const Joined& joined, const Message& first, const Message& second,
                       std::vector<const KeyCommand*>& left) {
    const std::int64_t before = joined.applied_at(first);
    const std::int64_t after = joined.applied_at(second);
    if (before == 0 || after == 0) return false;
    const auto found = std::ranges::find_if(left, [&](const KeyCommand* command) {
        return command->to_us >= before && command->from_us <= after;
    });
    if (found == left.end()) return false;
    left.erase(found);
    return true;
}

}  // namespace

std::vector<TwiceApplied> twice_applied(const Joined& joined) {
    std::map<int, std::vector<const Message*>> suspects;
    std::vector<TwiceApplied> found;
    for (const auto& [name, view] : joined.partitions()) {
        for (const Message& message : view.messages) {
            const int times = joined.times_applied(message);
            if (times == 0) continue;
            // The same message twice: no window excuses it.
            for (int again = 1; again < times; ++again) {
                found.push_back({message.key, message.place});
            }
            if (message.key < 0) continue;
            if (joined.keys()[static_cast<std::size_t>(message.key)].applied > 1) {
                suspects[message.key].push_back(&message);
            }
        }
    }
    for (auto& [key, messages] : suspects) {
        std::ranges::sort(messages, {}, [&](const Message* m) { return joined.applied_at(*m); });
        std::vector<const KeyCommand*> forgotten =
            joined.keys()[static_cast<std::size_t>(key)].forgotten;
        for (std::size_t i = 1; i < messages.size(); ++i) {
            if (forgotten_between(joined, *messages[i - 1], *messages[i], forgotten)) continue;
            if (!beyond_the_window(joined, *messages[i - 1], *messages[i])) {
                found.push_back({key, messages[i]->place});
            }
        }
    }
    return found;
}

}  // namespace onceward::checker
