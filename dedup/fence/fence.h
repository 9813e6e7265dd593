#pragma once
// The fence: one row for each partition of each consumer group, which says where the next
// transaction must begin and who may make it. Fences is used by one thread; it keeps only the owner
// ids that this worker took, and forgets them with the connection. Failures are PostgresErrors.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dedup/message/batch.h"
#include "dedup/message/message.h"
#include "dedup/postgres/transaction.h"

namespace onceward {

struct FenceState {
    Partition partition;
    std::string owner;
    std::string incarnation;
    Epoch epoch;
    Offset next_offset;
    LeaderEpoch leader_epoch{-1};
    std::string cluster_id;  // '' if not known yet
    std::string topic_id;
    bool retired = false;
    bool suspected = false;  // a process ran out of memory over what lies at next_offset
};

// How far a transaction moves a partition's fence, and what it adds to the totals.
struct FenceMove {
    Span span;
    Totals totals;
};

// Where a partition of a log begins for a group that has no fence for it.
struct FirstPosition {
    Offset offset;
    LeaderEpoch leader_epoch{-1};
};

// Identifies the log that a topic's name means; '' if the broker does not say.
struct LogIdentity {
    std::string cluster_id;
    std::string topic_id;
};

class Fences {
  public:
    // `owner_name`: for people who look at the row (host, process, worker).
    Fences(std::string consumer_group, std::string owner_name);

    // Returns the row as it is, without taking it; nullopt if there is none.
    std::optional<FenceState> look(Connection& connection, const std::string& topic,
                                   Partition partition);
    bool topic_has_fences(Connection& connection, const std::string& topic);
    // Makes the rows that are not there yet, in one transaction, at these positions; those that are
    // there stay as they are.
    void create(Connection& connection, const std::string& topic,
                std::vector<std::pair<Partition, FirstPosition>> positions, int ledger);
    // Takes the fence in a transaction of its own: a new owner id, the next epoch. Just before
    // COMMIT `still_assigned` is asked. If it says no, if the row's log is another one than
    // `identity`, or if the row is retired, all is rolled back, and the state that is returned has
    // an empty owner. REQUIRES: the row is there.
    FenceState take_over(Connection& connection, const std::string& topic, Partition partition,
                         const LogIdentity& identity, int ledger,
                         const std::function<bool()>& still_assigned);
    // Moves my fence over offsets that were not read and records the range. Throws PostgresError
    // 40001 if the fence is not mine or has another offset.
    void skip(Connection& connection, const std::string& topic, Partition partition, Offset begin,
              Offset end, const std::string& reason);
    void drop(const std::string& topic, Partition partition);
    void connection_lost() { owners_.clear(); }
    bool owns(const std::string& topic, Partition partition) const;
    const std::string& owner(const std::string& topic, Partition partition) const;

    // Locks the rows of these spans in one order, and checks that each row is mine and has the
    // offset at which its span begins. Returns the partitions whose row fails the check; if there
    // are any, the transaction must be rolled back. `meanwhile` is called while the server works.
    std::vector<Partition> hold(Transaction& transaction, const std::string& topic,
                                std::span<const Span> spans,
                                const std::function<void()>& meanwhile = {});
    // Makes the same check once more, moves the rows and adds the totals. `first`: statements that
    // are sent before that, in the same round trip. Returns the number of rows that were moved.
    std::size_t advance(Transaction& transaction, const std::string& topic,
                        std::span<const FenceMove> moves,
                        std::vector<Connection::Statement> first = {});
    // Moves the rows as a statement of a transaction in one round trip. It locks them, and fails
    // unless all are mine, have the offset at which their span begins, and are moved.
    Connection::Planned at_once(const std::string& topic, std::span<const FenceMove> moves) const;

  private:
    Parameters move_parameters(const std::string& topic, std::span<const FenceMove> moves) const;

    std::string consumer_group_;
    std::string owner_name_;
    std::map<TopicPartition, std::string> owners_;
};

// Whether two identities can name the same log: a part that either side does not know agrees with
// any.
bool same_log(const FenceState& fence, const LogIdentity& identity);

}  // namespace onceward
