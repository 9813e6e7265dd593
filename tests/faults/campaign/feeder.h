#pragma once
// Sends a seed's messages over the time of its faults, in a thread of its own, and writes the list
// of what was produced: one JSON object a line, as tests/faults/checker/produced_list.h has it.
// Thread-safe but for the constructor and finish(). A failure to send is kept until finish().

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/faults/campaign/message_source.h"
#include "tests/faults/campaign/names.h"
#include "tests/support/kafka_sender.h"

namespace onceward::campaign {

class Feeder {
  public:
    Feeder(const Plan& plan, const Names& names, const std::string& bootstrap_servers);
    ~Feeder();

    // Holds the sending back while the broker is away: what a producer does then is not the matter.
    // Returns when nothing is on its way.
    void hold();
    void go_on();
    int partitions(std::size_t topic) const;
    // The topic has so many by now; some of the next messages go there.
    void set_partitions(std::size_t topic, int count);

    // Sends what is left at once and ends. Throws what went wrong.
    void finish();
    // The offset of the last message that a reader can see, for each partition that has one.
    std::map<std::pair<std::size_t, int>, std::int64_t> last_offsets() const;
    std::int64_t visible() const { return visible_; }

  private:
    void run();
    void send(const Portion& portion);
    milliseconds open_for(const Portion& portion) const;
    void record(const Drawn& drawn, std::int64_t offset, bool aborted);
    bool wait_until(std::chrono::steady_clock::time_point moment);

    const Plan& plan_;
    const Names& names_;
    std::vector<std::atomic<int>> partitions_;
    MessageSource source_;
    std::ofstream file_;
    std::string bootstrap_servers_;
    std::unique_ptr<support::KafkaSender> plain_;
    std::unique_ptr<support::KafkaSender> transactional_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    bool sending_ = false;
    bool hurried_ = false;
    std::string failure_;
    std::map<std::pair<std::size_t, int>, std::int64_t> last_offsets_;
    std::atomic<std::int64_t> visible_{0};
    std::thread thread_;
};

}  // namespace onceward::campaign
