#pragma once
// The partitions whose next record waits for its schema: what each waits for, when it may be read
// again, and what is to be reported. Pure: no I/O, the clock is passed in. Used by the reader's
// thread.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "consumer/decode/schema_source.h"
#include "consumer/kafka/kafka_source.h"

namespace onceward {

class SchemaWaits {
  public:
    using Clock = std::chrono::steady_clock;
    using Find = std::function<SchemaAnswer(const AwaitedRecord& record)>;
    // A wait that ends sooner is not reported.
    static constexpr std::chrono::seconds tell_after{1};

    void add(AwaitedRecord record, Clock::time_point now);
    // For a partition whose reading begins elsewhere, or has ended.
    void forget(const TopicPartition& partition);

    struct News {
        // Records whose schemas are known, or known not to exist: read them now. They stay until
        // forget().
        std::vector<AwaitedRecord> ready;
        // Records that wait for longer than `tell_after`, once for each wait and reason.
        std::vector<AwaitedRecord> waiting;
    };
    News look(const Find& find, Clock::time_point now);
    // Whether the partition's wait was reported.
    bool told(const TopicPartition& partition) const;
    bool empty() const { return waits_.empty(); }

  private:
    struct Wait {
        AwaitedRecord record;
        Clock::time_point since;
        std::string told{};  // the reason; '' if nothing was said yet
    };
    std::map<TopicPartition, Wait> waits_;
};

// `it waits for schema 17, of the message at offset 42: registry `main` answers 503`
std::string describe(const AwaitedRecord& record);

}  // namespace onceward
