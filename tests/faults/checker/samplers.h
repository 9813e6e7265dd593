#pragma once
// What is checked while the workers run: Kafka's offset against the fence (I2), owners (I5),
// memory, descriptors, threads and connections (I13). The judgements are pure; a Sampler does the
// looking, in the thread of its caller. A server or broker that does not answer makes no sample:
// faults are the point of the run.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/faults/checker/checks.h"

namespace onceward::checker {

// By how much each may grow between the first minute of a process and its last.
struct Budgets {
    std::int64_t rss_kib = 64 * 1024;
    std::int64_t fds = 16;
    std::int64_t threads = 4;
    std::int64_t connections = 4;
};

struct SampleOptions {
    std::vector<int> pids;  // of workers; connections are those of their application_name
    std::string application_name = "onceward";  // and what begins so
    std::chrono::milliseconds every{500};
    // Owners are checked with every n-th look, and the last: they stay written down, and a look
    // reads the newest 5000 moves.
    int owners_every = 1;
    Budgets budgets;
};

// One look at one process. Connections are counted for all of them together, under pid 0, and
// divided by how many they are: the fleet grows and shrinks.
struct ResourceSample {
    int pid = 0;
    std::int64_t at_ms = 0;  // since the sampling began
    std::int64_t rss_kib = 0;
    std::int64_t fds = 0;
    std::int64_t threads = 0;
    std::int64_t connections = 0;
};

// Kafka's offset, read first, and the fence, read after it.
struct OffsetSample {
    PartitionName name;
    std::int64_t committed = 0;
    std::int64_t next_offset = 0;
};

Violations check_offset_samples(const Evidence& evidence,
                                const std::vector<OffsetSample>& samples);  // I2
// I13: the first minute's greatest value (first third's, in shorter lives) against the last one's
// middle. Processes that were seen for less than half a minute are passed over.
Violations check_resources(const std::vector<ResourceSample>& samples, const Budgets& budgets);

struct SampleReport {
    std::int64_t offset_samples = 0;
    std::int64_t owner_samples = 0;
    std::int64_t resource_samples = 0;
    std::int64_t unanswered = 0;  // looks that broker or server did not answer
    Violations violations;
};

struct Scene;

// Thread-safe are watch() and stop asked from elsewhere; all else belongs to run()'s thread.
class Sampler {
  public:
    explicit Sampler(const Scene& scene);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    // Adds a process, such as a worker that has just been started. One that has ended is forgotten.
    void watch(int pid);
    // Fail-over is about to happen: Kafka's offset may stand beyond the fence from now on.
    void expect_fail_over();
    // Samples until `stop` is true or the time is over (0: never), once more, then judges.
    SampleReport run(const std::atomic<bool>& stop, std::chrono::seconds limit = {});

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward::checker
