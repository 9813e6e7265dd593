#include "cli/operator/broker_view.h"

#include <chrono>
#include <thread>

#include "consumer/kafka/kafka_error.h"

namespace onceward {
namespace {

constexpr int tries_while_moving = 30;  // half a second apart

// Asks again while a leader or a coordinator is only on its way: a broker that has just started, a
// topic that was just made, or a group's first visit.
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

// Nothing is ever assigned to a source without topics.
struct BrokerView::Silent : SourceListener {
    void assigned(const std::vector<TopicPartition>&) override {}
    void revoked(const std::vector<TopicPartition>&, bool) override {}
    void out_of_range(const TopicPartition&) override {}
    void unreadable(const UnreadableRecords&) override {}
    void partition_failed(const TopicPartition&, int, const std::string&) override {}
};

BrokerView::BrokerView(const KafkaOptions& options)
    : listener_(std::make_unique<Silent>()),
      source_(std::make_unique<KafkaSource>(options, 0, std::vector<std::string>{}, *listener_)) {}

BrokerView::~BrokerView() = default;

int BrokerView::partition_count(const std::string& topic) {
    return source_->queries().partition_count(topic);
}

std::vector<std::string> BrokerView::topic_names() { return source_->queries().topic_names(); }

std::map<std::string, std::string> BrokerView::topic_properties(const std::string& topic) {
    return source_->queries().topic_properties(topic);
}

std::string BrokerView::topic_id(const std::string& topic) {
    return source_->queries().identity(topic).topic_id;
}

std::optional<Offset> BrokerView::group_offset(const TopicPartition& partition) {
    const auto found = ask([&] { return source_->queries().group_offset(partition); });
    return found ? std::optional(found->offset) : std::nullopt;
}

std::optional<KafkaError> BrokerView::refusal() {
    try {
        source_->serve();
    } catch (const KafkaError& fatal) {
        return fatal;
    }
    return source_->refusal();
}

LogRange BrokerView::range(const TopicPartition& partition) {
    return ask([&] { return source_->queries().range(partition); });
}

Offset BrokerView::offset_at(const TopicPartition& partition, std::chrono::milliseconds timestamp) {
    return ask([&] { return source_->queries().offset_at(partition, timestamp); });
}

}  // namespace onceward
