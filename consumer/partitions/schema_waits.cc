#include "consumer/partitions/schema_waits.h"

#include <utility>

namespace onceward {

void SchemaWaits::add(AwaitedRecord record, Clock::time_point now) {
    const TopicPartition partition = record.partition;
    waits_.insert_or_assign(partition, Wait{std::move(record), now});
}

void SchemaWaits::forget(const TopicPartition& partition) { waits_.erase(partition); }

SchemaWaits::News SchemaWaits::look(const Find& find, Clock::time_point now) {
    News news;
    for (auto& [partition, wait] : waits_) {
        const SchemaAnswer answer = find(wait.record);
        if (answer.state != SchemaAnswer::State::pending) {
            news.ready.push_back(wait.record);
            continue;
        }
        wait.record.schema.reason = answer.reason;
        if (now < wait.since + tell_after || wait.told == answer.reason) continue;
        wait.told = answer.reason;
        news.waiting.push_back(wait.record);
    }
    return news;
}

bool SchemaWaits::told(const TopicPartition& partition) const {
    const auto found = waits_.find(partition);
    return found != waits_.end() && !found->second.told.empty();
}

std::string describe(const AwaitedRecord& record) {
    return "it waits for schema " + id_text(record.schema.id) + ", of the message at offset " +
           std::to_string(record.position.raw()) + ": " + record.schema.reason;
}

}  // namespace onceward
