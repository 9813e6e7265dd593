#include "lab/scale/measure.h"

#include <unistd.h>

#include <list>
#include <thread>
#include <utility>

#include "lab/bench/machine.h"
#include "lab/bench/topic.h"
#include "lab/queries.h"

namespace onceward::scale {
namespace {

using namespace std::chrono_literals;
using bench::CpuMeter;
using bench::CpuTimes;

// Longer than a topic is filled.
constexpr auto session_timeout = 120s;

// One server with its topic, its tables and its processes.
class Shard {
  public:
    Shard(const Setup& setup, const Server& server, int number, std::int64_t messages,
          int processes)
        : servers_(setup.place.bootstrap_servers),
          topic_(setup.place.bootstrap_servers,
                 {.topic = "scale-" + std::to_string(number) + "-" + new_uuid().substr(0, 8),
                  .messages = messages,
                  .partitions = setup.partitions}),
          tables_(server.connection) {
        for (int i = 0; i < processes; ++i) {
            workers_.emplace_back(setup.place, topic_.workload(), tables_, bench::Claims::log,
                                  session_timeout);
        }
        workers_.front().wait_until([&] { return owners() == processes; },
                                    "for all processes to have partitions");
    }
    // What the first messages cost alone: statements are prepared, connections opened, and a
    // broker's JVM compiles.
    void warm_up() {
        send_until(topic_.workload().messages / 20);
        wait([&] { return done(); });
    }
    void fill() {
        for (auto& worker : workers_) worker.freeze();
        send_until(sent_ + topic_.workload().messages);
        tables_.checkpoint();
    }
    void begin() {
        for (auto& worker : workers_) worker.thaw();
    }
    bool done() {
        return tables_.connection()
                   .query(lab_sql::bench_passed, Parameters{}.text(topic_.workload().topic))
                   .integer(0, 0) >= sent_;
    }
    double cpu() const {
        double seconds = 0;
        for (const auto& worker : workers_) seconds += bench::cpu_seconds_of(worker.pid());
        return seconds;
    }
    // Messages and transactions, of the warm-up too.
    std::pair<std::int64_t, std::int64_t> end() {
        for (auto& worker : workers_) worker.end(SIGTERM);
        tables_.expect_rows(bench::plain_table, sent_);
        return {sent_, tables_.connection().query(lab_sql::bench_batches, {}).integer(0, 0)};
    }
    void wait(const std::function<bool()>& holds) {
        workers_.front().wait_until(
            [&] {
                std::this_thread::sleep_for(10ms);
                return holds();
            },
            "for all messages");
    }

  private:
    // One for each process that has partitions.
    std::int64_t owners() {
        return tables_.connection()
            .query(lab_sql::bench_owners, Parameters{}.text(topic_.workload().topic))
            .integer(0, 0);
    }
    void send_until(std::int64_t end) {
        ProducerOptions options;
        options.bootstrap_servers = servers_;
        Producer producer(options);
        for (; sent_ < end; ++sent_) {
            const std::string key = bench::key_of(topic_.workload(), sent_);
            bench::send(producer, topic_.workload(), sent_, key, bench::payload(key, sent_));
        }
        bench::finish(producer);
    }
    std::string servers_;
    bench::Topic topic_;
    bench::Tables tables_;
    std::int64_t sent_ = 0;
    std::list<bench::WorkerProcess> workers_;
};

CpuTimes used(const Setup& setup, const std::list<Shard>& shards) {
    CpuTimes sum{0, 0, CpuMeter{{}, {}, setup.place.cpu.broker}.read().broker};
    for (const Shard& shard : shards) sum.worker += shard.cpu();
    for (const Server& server : setup.servers) {
        sum.postgres += CpuMeter{{}, server.pid, {}}.read().postgres;
    }
    return sum;
}

}  // namespace

Point measure(const Setup& setup, int servers, int processes) {
    std::list<Shard> shards;
    for (int number = 0; number < servers; ++number) {
        shards.emplace_back(setup, setup.servers.at(static_cast<std::size_t>(number)), number,
                            setup.messages / servers, processes / servers);
    }
    for (Shard& shard : shards) shard.warm_up();
    for (Shard& shard : shards) shard.fill();
    const CpuTimes before = used(setup, shards);
    const bench::MachineTime machine = bench::machine_time();
    const auto begin = std::chrono::steady_clock::now();
    for (Shard& shard : shards) shard.begin();
    for (Shard& shard : shards) shard.wait([&] { return shard.done(); });
    const double seconds = bench::seconds_since(begin);
    const auto ticks = static_cast<double>(bench::machine_time().wanted - machine.wanted);
    const CpuTimes cpu = used(setup, shards) - before;
    double sent = 0, batches = 0;
    for (Shard& shard : shards) {
        const auto [messages, transactions] = shard.end();
        sent += static_cast<double>(messages);
        batches += static_cast<double>(transactions);
    }
    const auto messages = static_cast<double>(setup.messages / servers * servers);
    const double millions = messages / 1e6;
    return {servers,
            processes,
            messages / seconds,
            {cpu.worker / millions, cpu.postgres / millions, cpu.broker / millions},
            sent / batches,
            ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) / seconds};
}

Point medians(const std::vector<Point>& runs) {
    const auto median = [&](const std::function<double(const Point&)>& of) {
        std::vector<double> values;
        for (const Point& run : runs) values.push_back(of(run));
        return bench::summarize(std::move(values)).median;
    };
    Point point = runs.front();
    point.rate = median([](const Point& run) { return run.rate; });
    point.cpu.worker = median([](const Point& run) { return run.cpu.worker; });
    point.cpu.postgres = median([](const Point& run) { return run.cpu.postgres; });
    point.cpu.broker = median([](const Point& run) { return run.cpu.broker; });
    point.batch = median([](const Point& run) { return run.batch; });
    point.busy = median([](const Point& run) { return run.busy; });
    return point;
}

}  // namespace onceward::scale
