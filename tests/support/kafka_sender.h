#pragma once
// Sends to Kafka and tells the offset that each message got, plainly or in transactions; and moves
// a group's committed offset as a member of that group. Plain librdkafka, none of the product's
// code. A sender is used by one thread. Failures are std::runtime_errors.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/kafka.h"

namespace onceward::support {

struct AddressedMessage {
    std::string topic;
    ProducedMessage message;
};

class KafkaSender {
  public:
    enum class Kind : std::uint8_t { plain, transactional };
    KafkaSender(const std::string& bootstrap_servers, Kind kind);
    ~KafkaSender();

    // The offsets, in the order of the messages; returns when all of them are acknowledged. Waits
    // for a broker that is away.
    std::vector<std::int64_t> send(const std::vector<AddressedMessage>& messages);
    // The same in one transaction. With `abort` the messages are in the log, and no consumer of
    // committed ones sees them. The transaction stays open for so long after the last of them.
    std::vector<std::int64_t> send_in_transaction(const std::vector<AddressedMessage>& messages,
                                                  Kafka::Transaction end,
                                                  std::chrono::milliseconds open = {});

  private:
    struct State;
    std::unique_ptr<State> state_;
};

struct ForeignCommit {
    std::string bootstrap_servers;
    std::string group;
    std::string own_topic;  // that it subscribes to; the group's real work is not disturbed
    Properties properties;  // such as those that the members must agree on
    std::string topic;
    int partition = 0;
    std::int64_t offset = 0;
    std::chrono::milliseconds limit{10'000};
};

// Joins the group, commits that offset and leaves. False where it did not come to that in time.
bool commit_as_a_member(const ForeignCommit& commit);

}  // namespace onceward::support
