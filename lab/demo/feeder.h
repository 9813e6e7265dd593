#pragma once
// The demo's producer, in a thread of its own: writes the workload to the broker as fast as it may.
// It stays below what the mock cluster keeps of a partition, by what the workers' fences have
// passed. Thread-safe; owns its thread, which the destructor stops. What went wrong in the thread
// comes out of check().

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "dedup/base/types.h"
#include "lab/demo/workload.h"

namespace onceward::demo {

struct FeederOptions {
    std::string bootstrap_servers;
    std::string proto_file;  // of the payments
};

class Feeder {
  public:
    // `workload` outlives the feeder and is left alone until done().
    Feeder(FeederOptions options, Workload& workload);
    ~Feeder();
    Feeder(const Feeder&) = delete;
    Feeder& operator=(const Feeder&) = delete;

    // How many messages may be produced so far; 0 at first.
    void allow(std::int64_t messages);
    // Where the fence of a partition is: everything below it is settled and may be trimmed.
    void passed(const TopicPartition& partition, Offset next);
    // Throws what ended the thread.
    void check();

    std::int64_t delivered() const;
    // Messages that the broker has and the fences have not passed.
    std::int64_t lag() const;
    // Everything is produced and acknowledged.
    bool done() const;

  private:
    struct Progress {
        Offset end;     // of the log, by the broker's acknowledgements
        Offset passed;  // by the fences
        std::int64_t sent = 0;
    };
    void run();
    void feed();
    bool wait_for_room(const TopicPartition& partition, std::int64_t ordinal);

    const FeederOptions options_;
    Workload& workload_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<TopicPartition, Progress> partitions_;
    std::int64_t allowed_ = 0;
    std::int64_t delivered_ = 0;
    std::size_t record_bytes_max_ = 0;
    bool stopping_ = false;
    bool done_ = false;
    std::exception_ptr failure_;
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace onceward::demo
