#pragma once
// Workers of this process over a topic, from the moment that they begin together to the last
// commit. Used by one thread. Failures are exceptions; a run that takes a quarter of an hour is one
// too.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/admin/process_status.h"
#include "consumer/worker.h"
#include "lab/bench/measurement.h"
#include "lab/bench/tables.h"
#include "lab/bench/workload.h"
#include "sinks/table/table_options.h"

namespace onceward::bench {

enum class Claims : std::uint8_t {
    off,            // the same decode, fence, batch and commit; only digest and claim are left out
    table,          //
    log,            // reach global
    log_partition,  // reach partition
};

struct Plan {
    Claims claims = Claims::log;
    int workers = 1;
    BatchLimits batch;
    // The share of the messages that pass before the clock runs: until then windows are read,
    // statements prepared and caches filled.
    double not_measured = 0.05;
    Tracer* tracer = nullptr;                // null: traces are off
    std::chrono::seconds scrape_every{0};    // 0: nobody asks for metrics
    std::shared_ptr<SchemaCache> schemas{};  // for Form::avro
    // Bytes of claims that the workers may hold. Nothing seals claims in a bench: a run with more
    // of them than fit would look up each claim on the server.
    std::size_t claims_memory = LogWindows::default_limit;
};

// Into the plain table, a column for each mapped field.
TableSinkOptions plain_sink();

struct Place {
    std::string bootstrap_servers;
    CpuMeter cpu;
};

// The workers, from their start to their end; none of them takes a fence before all are there.
class Workers {
  public:
    // Returns when each has its share of the topic's partitions.
    Workers(const Place& place, const Workload& workload, const Plan& plan, const Tables& tables);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // Lets them take their fences and read.
    void begin();
    // Throws where a partition is halted: nothing more would come of it.
    Totals totals() const;
    std::size_t reading() const;
    // As an admin port has them; from any thread.
    std::vector<WorkerState> states() const;
    // The commits since the last call.
    CommitTimes take_times();
    void stop();

  private:
    class Gate;
    void start(WorkerOptions options, int count);
    std::unique_ptr<Gate> gate_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

// The group of the workers that read this topic while these tables exist.
std::string group_of(const Workload& workload, const Tables& tables);
// The table that a topic of this form is written to, and its column that holds the key.
const char* table_of(const Workload& workload);
const char* key_column_of(const Workload& workload);

// Seconds until workers that know nothing have committed a batch, from the moment when they have
// all partitions.
double first_commit(const Place& place, const Workload& workload, const Plan& plan,
                    const Tables& tables);

// Consumes so many messages that are in the topic already; `meanwhile` is called when the clock
// runs.
Measurement consume(
    const Place& place, const Workload& workload, const Plan& plan, Tables& tables,
    std::int64_t messages, const std::function<void()>& meanwhile = [] {});

// Polls until it holds; std::runtime_error with `what` where it never does.
void wait_until(const std::function<bool()>& holds, std::string_view what);
double seconds_since(std::chrono::steady_clock::time_point begin);

}  // namespace onceward::bench
