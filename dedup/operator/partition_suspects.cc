#include "dedup/operator/partition_suspects.h"

#include "schemas/queries.h"

namespace onceward {

std::optional<Offset> note_suspect(Connection& connection, const std::string& consumer_group,
                                   const TopicPartition& partition, const MemoryUse& use,
                                   std::optional<Offset> record) {
    Parameters parameters;
    parameters.text(consumer_group)
        .text(partition.topic)
        .integer(partition.partition.raw())
        .integer(use.resident)
        .integer(use.budget);
    if (record) {
        parameters.integer(record->raw());
    } else {
        parameters.null();
    }
    const QueryResult row = connection.query(sql::suspects_write, parameters);
    if (row.rows() == 0) return std::nullopt;
    return Offset{row.integer(0, 0)};
}

}  // namespace onceward
