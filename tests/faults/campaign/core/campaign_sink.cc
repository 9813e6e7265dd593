#include "tests/faults/campaign/core/campaign_sink.h"

#include <optional>
#include <string>
#include <utility>

#include "tests/faults/campaign/core/workload.h"
#include "tests/support/citus.h"

namespace onceward::campaign::core {
namespace {

constexpr std::string_view insert =
    "INSERT INTO {schema}.effects (message_id, key, kafka_partition, kafka_offset, amount) "
    "SELECT id, key, partition, record_offset, nullif(payload, '')::integer "
    "FROM unnest($1::bigint[], $2::bytea[], $3::integer[], $4::bigint[], $5::text[]) "
    "AS message (id, key, partition, record_offset, payload)";

Parameters columns_of(std::span<const Message* const> messages) {
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
    Parameters columns;
    columns.integers(ids)
        .byte_strings(keys)
        .small_integers(partitions)
        .integers(offsets)
        .texts(payloads);
    return columns;
}

}  // namespace

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
    if (support::on_citus()) return write_by_values(transaction, messages);
    transaction.prepared(insert, columns_of(messages));
}

// What is to fail or to be swallowed needs write().
std::optional<std::vector<SinkStatement>> CampaignSink::at_once(
    const BatchContext&, std::span<const Message* const> messages) {
    if (!at_once_ || !sqlstate_.empty() || swallowed_ || support::on_citus()) return std::nullopt;
    return std::vector<SinkStatement>{{insert, columns_of(messages), {}}};
}

// As the table sink writes into a table that Citus distributes.
void CampaignSink::write_by_values(Transaction& transaction,
                                   std::span<const Message* const> messages) {
    Parameters values;
    std::string rows;
    for (const Message* message : messages) {
        const Record& record = message->record;
        const auto next = [&] { return "$" + std::to_string(values.size() + 1); };
        rows += rows.empty() ? "(" : ", (";
        rows += next();
        values.integer(
            static_cast<std::int64_t>(message_id(record.partition.raw(), record.offset.raw())));
        rows += ", " + next();
        values.bytes(message->key_text);
        rows += ", " + next() + "::integer";
        values.integer(record.partition.raw());
        rows += ", " + next();
        values.integer(record.offset.raw());
        rows += ", nullif(" + next() + ", '')::integer)";
        values.optional_text(record.payload ? std::optional<std::string>(*record.payload)
                                            : std::nullopt);
    }
    if (messages.empty()) return;
    transaction.query(
        "INSERT INTO {schema}.effects (message_id, key, kafka_partition, kafka_offset, amount) "
        "VALUES {rows}",
        values, {{"rows", rows}});
}

}  // namespace onceward::campaign::core
