#include "tests/faults/campaign/core/campaign_sink.h"

#include <utility>

#include "tests/faults/campaign/core/workload.h"

namespace onceward::campaign::core {

void CampaignSink::write(Transaction& transaction, const BatchContext&,
                         std::span<const Message* const> messages) {
    if (!sqlstate_.empty()) {
        const std::string state = std::exchange(sqlstate_, "");
        failed_();
        transaction.query("SELECT {schema}.raise_state($1)", Parameters{}.text(state));
    }
    if (const auto happened = std::exchange(swallowed_, nullptr)) {
        happened();
        try {
            transaction.query("SELECT 1 / 0", {});
        } catch (const PostgresError&) {
            return;  // what no sink should do
        }
    }
    std::vector<std::int64_t> ids, offsets;
    std::vector<std::int32_t> partitions;
    std::vector<std::optional<std::string_view>> keys, payloads;
    for (const Message* message : messages) {
        const Record& record = message->record;
        ids.push_back(
            static_cast<std::int64_t>(message_id(record.partition.raw(), record.offset.raw())));
        offsets.push_back(record.offset.raw());
        partitions.push_back(record.partition.raw());
        keys.emplace_back(message->key_text);
        payloads.push_back(record.payload);
    }
    transaction.prepared(
        "INSERT INTO {schema}.effects (message_id, key, kafka_partition, kafka_offset, amount) "
        "SELECT id, key, partition, record_offset, nullif(payload, '')::integer "
        "FROM unnest($1::bigint[], $2::bytea[], $3::integer[], $4::bigint[], $5::text[]) "
        "AS message (id, key, partition, record_offset, payload)",
        Parameters{}
            .integers(ids)
            .byte_strings(keys)
            .small_integers(partitions)
            .integers(offsets)
            .texts(payloads));
}

}  // namespace onceward::campaign::core
