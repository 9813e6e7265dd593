#include "tests/faults/checker/evidence.h"

#include <algorithm>

namespace onceward::checker {

std::vector<PartitionLog> log_of(const std::vector<ProducedMessage>& produced,
                                 const std::map<PartitionName, std::int64_t>& ends) {
    std::map<PartitionName, PartitionLog> logs;
    for (const auto& [name, end] : ends) logs[name].end = end;
    for (const ProducedMessage& message : produced) {
        if (message.place.offset < 0) continue;
        PartitionLog& log = logs[message.place.in()];
        log.end = std::max(log.end, message.place.offset + 1);
        if (!message.aborted) log.records.push_back({message.place.offset, message.id});
    }
    std::vector<PartitionLog> result;
    for (auto& [name, log] : logs) {
        log.name = name;
        std::ranges::sort(log.records, {}, &LogRecord::offset);
        result.push_back(std::move(log));
    }
    return result;
}

}  // namespace onceward::checker
