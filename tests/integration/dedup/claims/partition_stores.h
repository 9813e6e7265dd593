#pragma once
// Stores of a log with `reach: partition`, without a worker.

#include <memory>

#include "dedup/claims/log/partition_log_store.h"
#include "dedup/ledger/ledger.h"

namespace onceward::support {

inline void take(PartitionLogStore& store, Connection& connection, int partition) {
    const TopicPartition taken{"topic", Partition{partition}};
    store.partitions_taken(connection, {&taken, 1});
}

// With the claims of that partition, in a process of its own.
inline PartitionLogStore store_of(Connection& connection, const RegisteredLedger& registered,
                                  int partition = 0) {
    PartitionLogStore store(registered.ledger, registered.source, std::make_shared<LogWindows>());
    take(store, connection, partition);
    return store;
}

}  // namespace onceward::support
