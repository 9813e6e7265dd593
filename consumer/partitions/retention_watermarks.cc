#include "consumer/partitions/retention_watermarks.h"

#include "dedup/base/logging.h"
#include "dedup/retention/watermark.h"

namespace onceward {

RetentionWatermarks::RetentionWatermarks(std::string consumer_group,
                                         std::chrono::milliseconds every)
    : consumer_group_(std::move(consumer_group)), every_(every), pauses_(every) {}

void RetentionWatermarks::taken(const TopicPartition& partition, int ledger,
                                const FenceState& fence) {
    partitions_.insert_or_assign(partition,
                                 Entry{WatermarkSampler(every_), fence.next_offset, ledger});
}

void RetentionWatermarks::moved(const std::string& topic, std::span<const FenceMove> moves) {
    for (const FenceMove& move : moves) {
        const auto found = partitions_.find({topic, move.span.partition});
        if (found != partitions_.end()) found->second.fence = move.span.end;
    }
}

void RetentionWatermarks::identity(const std::string& topic, const LogIdentity& identity) {
    identities_[topic] = identity;
}

RetentionWatermarks::Found RetentionWatermarks::tick(Connection& connection, Handoff& handoff,
                                                     KafkaSource& source, Fences& fences) {
    const auto now = Clock::now();
    Found found;
    std::erase_if(partitions_, [&](const auto& item) {
        return !fences.owns(item.first.topic, item.first.partition);
    });
    // The turn passes on from the partition that was asked about last. Otherwise the first ones
    // would be due again before the last ones have been asked about once.
    auto at = partitions_.upper_bound(asked_last_);
    for (std::size_t left = partitions_.size(); left > 0; --left, ++at) {
        if (at == partitions_.end()) at = partitions_.begin();
        auto& [partition, entry] = *at;
        const auto asked = Clock::now();
        try {
            if (!handoff.look(&Assignment::reading, partition)) continue;
            const bool may_ask = pauses_.may_ask(partition.topic, now);
            const bool due = may_ask && entry.sampler.wants_sample(now);
            // Not only with a sample: a partition with a long lag wants none for hours.
            const bool list_due = may_ask && next_list_[partition.topic] <= now;
            if (due || list_due) asked_last_ = partition;
            if (list_due) {
                const std::optional<int> count =
                    list_partitions(connection, source, partition.topic, entry.ledger);
                if (!count) {
                    found.other_log = OtherLog{partition.topic, identities_[partition.topic]};
                    return found;
                }
                found.listed = Found::Listed{partition.topic, *count};
            }
            if (due) sample(connection, source, partition, entry);
            if (due || list_due) pauses_.answered(partition.topic);
            if (!write(connection, handoff, fences, partition, entry)) {
                found.missed = partition;
                return found;
            }
            if (!due && !list_due) continue;
            // Only now: if PostgreSQL had failed, the answer would be lost and be asked for late.
            if (list_due) next_list_[partition.topic] = now + every_;
            found.answered = true;
            return found;
        } catch (const KafkaError& error) {
            // DANGER: not for long. With `reach: partition` a key that moved to an added partition
            // is applied again until this worker has asked how many there are.
            const auto failed = Clock::now();
            pauses_.failed(partition.topic, failed, failed - asked);
            log_warning("watermark.failed", {{"topic", partition.topic}, {"error", error.what()}});
            source.bootstrap_again();
            // DANGER: another topic's answer would take the place of this one, and nobody would see
            // that partitions were added.
            if (found.listed) return found;
        }
    }
    return found;
}

std::optional<int> RetentionWatermarks::list_partitions(Connection& connection, KafkaSource& source,
                                                        const std::string& topic, int ledger) {
    const LogIdentity identity = source.queries().identity(topic);
    LogIdentity& known = identities_[topic];
    const bool other = !known.topic_id.empty() && !identity.topic_id.empty() &&
                       known.topic_id != identity.topic_id;
    known = identity;
    if (other) return std::nullopt;
    const ClockReading clocks = read_clocks(connection);
    const int count = source.queries().partition_count(topic);
    write_partition_list(connection, ledger, consumer_group_, topic, clocks, count);
    return count;
}

void RetentionWatermarks::sample(Connection& connection, KafkaSource& source,
                                 const TopicPartition& partition, Entry& entry) {
    // DANGER: read the clock first, then the end of the log. In the other order a message that
    // arrives in between would count as passed.
    const ClockReading clocks = read_clocks(connection);
    const auto end = source.queries().high_watermark(partition);
    // librdkafka leaves out a partition whose leader did not answer in time.
    if (!end) throw KafkaError(0, "end of the log: no answer");
    const Sampling sampling = entry.sampler.sampled(Clock::now(), clocks, *end, entry.fence);
    if (sampling == Sampling::clocks_differ || sampling == Sampling::out_of_range) {
        log_warning("watermark.refused", {{"topic", partition.topic},
                                          {"partition", partition.partition.raw()},
                                          {"error", to_text(sampling)}});
    }
}

bool RetentionWatermarks::write(Connection& connection, Handoff& handoff, Fences& fences,
                                const TopicPartition& partition, Entry& entry) {
    // If only control records follow the last message, this write moves the fence to the end too.
    const std::optional<Span> tail = handoff.tail(partition, entry.fence);
    const auto due = entry.sampler.fence_at(tail ? tail->end : entry.fence);
    if (!due) return true;
    const std::string owner = fences.owner(partition.topic, partition.partition);
    const LogIdentity& identity = identities_[partition.topic];
    const OwnedFence fence{consumer_group_, partition.topic, partition.partition, owner,
                           identity.topic_id};
    if (!write_watermark(connection, fence, *due, tail)) return false;
    if (tail) {
        entry.fence = tail->end;
        handoff.drop_tail(partition, *tail);
    }
    return true;
}

}  // namespace onceward
