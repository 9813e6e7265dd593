#include "dedup/retention/watermark.h"

#include <array>
#include <utility>

#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::chrono::minutes clock_tolerance{1};

std::int64_t microseconds(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace

bool clocks_agree(const ClockReading& clocks) {
    return std::chrono::abs(clocks.database - clocks.worker) <= clock_tolerance;
}

std::string_view to_text(Sampling sampling) {
    constexpr std::array<std::string_view, 4> names{"kept", "waiting", "clocks_differ",
                                                    "out_of_range"};
    return names.at(static_cast<std::size_t>(sampling));
}

Sampling WatermarkSampler::sampled(Moment now, const ClockReading& clocks, Offset end,
                                   Offset fence) {
    next_ = now + every_;
    if (end < fence) return Sampling::out_of_range;
    if (waiting_) return Sampling::waiting;
    if (!clocks_agree(clocks)) return Sampling::clocks_differ;
    waiting_ = WatermarkWrite{clocks.database, end};
    return Sampling::kept;
}

std::optional<WatermarkWrite> WatermarkSampler::fence_at(Offset fence) {
    if (!waiting_ || fence < waiting_->end) return std::nullopt;
    return std::exchange(waiting_, std::nullopt);
}

ClockReading read_clocks(Connection& connection) {
    const std::int64_t database = connection.query(sql::database_clock, {}).integer(0, 0);
    return {
        WallTime(std::chrono::microseconds(database)),
        std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now())};
}

bool write_watermark(Connection& connection, const OwnedFence& fence, const WatermarkWrite& write,
                     const std::optional<Span>& to_end) {
    const Parameters parameters{fence.consumer_group,
                                fence.topic,
                                fence.partition,
                                fence.owner,
                                microseconds(write.moment),
                                write.end,
                                fence.topic_id,
                                to_end ? std::optional(to_end->begin) : std::nullopt,
                                to_end ? std::optional(to_end->end) : std::nullopt};
    OwnedTransaction transaction(connection);
    const bool written = transaction.prepared(sql::watermark_write, parameters).affected() == 1;
    transaction.commit();
    return written;
}

bool write_partition_list(Connection& connection, int ledger, std::string_view consumer_group,
                          std::string_view topic, const ClockReading& clocks, int partitions) {
    if (!clocks_agree(clocks)) return false;
    OwnedTransaction transaction(connection);
    const bool written =
        transaction
            .query(sql::watermark_feed_write,
                   {ledger, consumer_group, topic, partitions, microseconds(clocks.database)})
            .affected() == 1;
    transaction.commit();
    return written;
}

}  // namespace onceward
