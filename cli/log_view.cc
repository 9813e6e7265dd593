#include "cli/log_view.h"

#include <chrono>
#include <thread>

namespace onceward {
namespace {

constexpr int coordinator_tries = 30;  // half a second apart

}  // namespace

// Nothing is ever assigned to a source without topics.
struct LogView::Silent : SourceListener {
    void assigned(const std::vector<TopicPartition>&) override {}
    void revoked(const std::vector<TopicPartition>&, bool) override {}
    void out_of_range(const TopicPartition&) override {}
    void partition_failed(const TopicPartition&, int, const std::string&) override {}
};

LogView::LogView(const KafkaOptions& options)
    : listener_(std::make_unique<Silent>()),
      source_(std::make_unique<KafkaSource>(options, 0, std::vector<std::string>{}, *listener_)) {}

LogView::~LogView() = default;

int LogView::partition_count(const std::string& topic) { return source_->partition_count(topic); }

std::string LogView::topic_id(const std::string& topic) {
    return source_->identity(topic).topic_id;
}

std::optional<Offset> LogView::group_offset(const TopicPartition& partition) {
    for (int tries = coordinator_tries;; --tries) {
        try {
            const auto found = source_->group_offset(partition);
            return found ? std::optional(found->offset) : std::nullopt;
        } catch (const KafkaError& error) {
            // A broker that has just started, or a group's first visit.
            if (tries == 0 || !coordinator_is_moving(error)) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

void LogView::complain() { source_->serve(); }

KafkaSource::Range LogView::range(const TopicPartition& partition) {
    return source_->range(partition);
}

Offset LogView::offset_at(const TopicPartition& partition, std::chrono::milliseconds timestamp) {
    return source_->offset_at(partition, timestamp);
}

}  // namespace onceward
