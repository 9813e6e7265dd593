#include "cli/operator/broker_view.h"

#include <chrono>
#include <thread>

namespace onceward {
namespace {

constexpr int tries_while_moving = 30;  // half a second apart

// Asks again while a leader or a coordinator is not there yet: when a broker has just started, when
// a topic was just made, or at a group's first visit.
template <typename Question>
auto ask(Question question) {
    for (int tries = tries_while_moving;; --tries) {
        try {
            return question();
        } catch (const KafkaError& error) {
            if (tries == 0 || !(coordinator_is_moving(error) || leader_is_moving(error))) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

}  // namespace

std::optional<Offset> BrokerView::group_offset(const TopicPartition& partition) {
    const auto found = ask([&] { return queries().group_offset(partition); });
    return found ? std::optional(found->offset) : std::nullopt;
}

std::optional<KafkaError> BrokerView::refusal() {
    try {
        source_.serve();
    } catch (const KafkaError& fatal) {
        return fatal;
    }
    return source_.refusal();
}

LogRange BrokerView::range(const TopicPartition& partition) {
    return ask([&] { return queries().range(partition); });
}

Offset BrokerView::offset_at(const TopicPartition& partition, std::chrono::milliseconds timestamp) {
    return ask([&] { return queries().offset_at(partition, timestamp); });
}

}  // namespace onceward
