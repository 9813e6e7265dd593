#pragma once
// What the worker's writer does with a topic's batches: Processor if the effect is in the claim's
// transaction, LeaseProcessor if it is outside of PostgreSQL. One object for each worker and topic,
// used by the writer's thread. run() throws ProcessingError for what is not a message's fault,
// TopicHalted if the topic's policy asks for it, and MessageWaits if a message is to be tried
// again. After any of them it can be resumed on a healthy connection, or the batch is thrown away
// and read again.

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>

#include "dedup/message/batch.h"
#include "dedup/policy/failure.h"

namespace onceward {

class Connection;

// The topic stops here until an operator has looked: `on_reject: halt`, or too large a share of
// rejects.
class TopicHalted : public std::runtime_error {
  public:
    TopicHalted(const Record& record, const std::string& reason)
        : std::runtime_error(reason), partition(record.partition), offset(record.offset) {}
    // By the policy, for a message that was rejected.
    TopicHalted(const Record& record, const Rejection& rejection)
        : TopicHalted(record,
                      std::string(rejection.kind == Rejection::Kind::conflict ? "on_conflict"
                                                                              : "on_reject") +
                          ": halt, and a message was rejected: " + describe(rejection)) {}
    Partition partition;
    Offset offset;
};

// A message was refused for a reason that may pass: its partition must be read again from the fence
// when the pause is over. The rest of the batch continues once abandon() has removed the partition.
class MessageWaits : public std::runtime_error {
  public:
    MessageWaits(const Record& record, int tried_again, std::chrono::milliseconds how_long,
                 const std::string& reason)
        : std::runtime_error(reason),
          partition(record.partition),
          offset(record.offset),
          tried(tried_again),
          pause(how_long) {}
    Partition partition;
    Offset offset;
    int tried;
    std::chrono::milliseconds pause;  // not yet jittered
};

// A PostgresError with what failure.h makes of it: retry, reconnect or stop.
class ProcessingError : public PostgresError {
  public:
    ProcessingError(const PostgresError& error, FailureAction what)
        : PostgresError(error), action(what) {}
    FailureAction action;
};

class BatchProcessor {
  public:
    virtual ~BatchProcessor() = default;
    // Takes a batch to work on. REQUIRES: idle().
    virtual void start(Batch batch) = 0;
    virtual bool idle() const = 0;
    // Works until all of the batch is committed or its partitions were missed. Returns the
    // partitions whose fence was not mine or was at another offset: nothing of them has landed
    // since, and their fence must be taken again.
    virtual std::set<Partition> run(Connection& connection) = 0;
    // Throws away what is left of the batch: it is read again from the fence.
    virtual void abandon() = 0;
    // Takes these partitions out of what is left; they were revoked.
    virtual void abandon(const std::set<Partition>& partitions) = 0;
    // Whether work that has begun should be finished, and not thrown away, while its partitions
    // are revoked, as long as somebody waits for them. True for calls: they cannot be rolled back.
    virtual bool ends_while_leaving() const = 0;
};

}  // namespace onceward
