#include "tests/support/scripted_log.h"

#include <mutex>

namespace onceward::support {

Digest scripted_digest(const std::string& key) { return digest_of({"test", "", "field", key}); }

Offset ScriptedLog::append(int partition, LogEntry entry) {
    const std::unique_lock lock(mutex_);
    Log& log = partitions_.at(static_cast<std::size_t>(partition));
    log.entries.emplace(log.end, std::move(entry));
    return Offset{log.end++};
}

void ScriptedLog::leave_gap(int partition, std::int64_t offsets) {
    const std::unique_lock lock(mutex_);
    partitions_.at(static_cast<std::size_t>(partition)).end += offsets;
}

Offset ScriptedLog::end(int partition) const {
    const std::shared_lock lock(mutex_);
    return Offset{log(partition).end};
}

std::int64_t ScriptedLog::message_count() const {
    const std::shared_lock lock(mutex_);
    std::size_t count = 0;
    for (const Log& log : partitions_) count += log.entries.size();
    return static_cast<std::int64_t>(count);
}

const std::map<std::int64_t, LogEntry>& ScriptedLog::entries(int partition) const {
    return log(partition).entries;
}

Chunk ScriptedLog::read(Partition partition, Offset begin, std::size_t messages) const {
    const std::shared_lock lock(mutex_);
    const Log& log = this->log(partition.raw());
    Chunk chunk;
    Offset end = begin;
    auto entry = log.entries.lower_bound(begin.raw());
    for (; entry != log.entries.end() && chunk.messages.size() < messages; ++entry) {
        const LogEntry& source = entry->second;
        Message& message = chunk.messages.emplace_back();
        message.record.partition = partition;
        message.record.offset = Offset{entry->first};
        message.record.key = source.record_key ? *source.record_key : source.key;
        message.record.payload = source.payload;
        message.record.timestamp = source.timestamp;
        message.digest = scripted_digest(source.key);
        message.key_text = source.key;
        message.minted_at = source.minted_at;
        message.fingerprint = stamped(source.fingerprint, source.minted_at);
        if (source.redriven) message.record.headers.push_back({redriven_header, "1"});
        message.rejection = source.rejection;
        message.skipped = source.skipped;
        chunk.bytes += source.key.size() + source.payload.size();
        end = next(message.record.offset);
    }
    if (entry == log.entries.end()) end = Offset{log.end};
    if (begin < end) chunk.spans.push_back({partition, begin, end});
    return chunk;
}

}  // namespace onceward::support
