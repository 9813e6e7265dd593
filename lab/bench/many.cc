#include "lab/bench/many.h"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "lab/bench/machine.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr double not_measured = 0.05;
// Often enough for a start of a second; a question takes the server less than a millisecond.
constexpr auto ask_every = 10ms;

std::string table_number(std::size_t number) {
    return number == 0 ? plain_table : plain_table + ("_" + std::to_string(number));
}

double peak_megabytes(pid_t process) {
    const double kilobytes = kilobytes_in("/proc/" + std::to_string(process) + "/status", "VmHWM");
    if (kilobytes > 0) return kilobytes * 1024 / 1e6;
    throw std::runtime_error("the process is gone, or its system does not count its memory");
}

// A process over all topics of `many`, and how far it is.
class ManyProcess {
  public:
    ManyProcess(const Place& place, const ProcessSetup& setup, Tables& tables)
        : group_(setup.group), tables_(tables), process_(place, setup, tables) {}

    pid_t pid() const { return process_.pid(); }
    int owned() const { return owned_; }          // partitions that it has taken
    int committed() const { return committed_; }  // partitions that have ever committed
    std::int64_t passed() const { return passed_; }
    double seconds() const { return seconds_since(begun_); }
    void wait_until(const std::function<bool()>& holds, const char* what) {
        process_.wait_until(
            [&] {
                look();
                return holds();
            },
            what);
    }
    void end() { process_.end(SIGTERM); }

  private:
    void look() {
        std::this_thread::sleep_for(ask_every);
        const QueryResult row = tables_.connection().query(
            lab_sql::bench_progress, {group_, std::to_string(process_.pid())});
        owned_ = static_cast<int>(row.integer(0, 0));
        committed_ = static_cast<int>(row.integer(0, 1));
        passed_ = row.integer(0, 2);
    }

    std::string group_;
    Tables& tables_;
    Clock::time_point begun_ = Clock::now();
    WorkerProcess process_;
    int owned_ = 0;
    int committed_ = 0;
    std::int64_t passed_ = 0;
};

ProcessSetup setup_of(const ManyTopics& many, Tables& tables) {
    ProcessSetup setup;
    setup.group = group_of(many.topics.front(), tables);
    setup.workers = many.workers;
    for (std::size_t i = 0; i < many.topics.size(); ++i) {
        if (i > 0) tables.add(table_number(i));
        setup.topics.push_back({many.topics[i].topic, table_number(i)});
    }
    return setup;
}

}  // namespace

ManyCost run_many(const Place& place, const ManyTopics& many, Tables& tables) {
    const ProcessSetup setup = setup_of(many, tables);
    int partitions = 0;
    std::int64_t messages = 0;
    for (const Workload& topic : many.topics) {
        partitions += topic.partitions;
        messages += topic.messages;
    }
    tables.checkpoint();
    ManyCost cost;
    ManyProcess first(place, setup, tables);
    first.wait_until([&] { return first.owned() == partitions && first.committed() > 0; },
                     "for a process's start");
    cost.start = first.seconds();
    const auto warm = static_cast<std::int64_t>(static_cast<double>(messages) * not_measured);
    first.wait_until([&] { return first.passed() >= warm; }, "for the first messages");
    const std::int64_t passed = first.passed();
    if (passed >= messages) throw std::runtime_error("too few messages to measure anything");
    CpuMeter meter = place.cpu;
    meter.worker = first.pid();
    const auto begin = Clock::now();
    const CpuTimes cpu = meter.read();
    const std::int64_t wal = tables.wal();
    first.wait_until([&] { return first.passed() >= messages; }, "for the messages");
    cost.run.seconds = seconds_since(begin);
    cost.run.cpu = meter.read() - cpu;
    cost.run.wal_bytes = tables.wal() - wal;
    cost.run.messages = first.passed() - passed;
    cost.run.applied = first.passed();
    cost.megabytes = peak_megabytes(first.pid());
    first.end();
    ManyProcess second(place, setup, tables);
    second.wait_until([&] { return second.owned() == partitions; }, "for a process's restart");
    cost.restart = second.seconds();
    second.end();
    for (std::size_t i = 0; i < many.topics.size(); ++i) {
        tables.expect_rows(table_number(i).c_str(), many.topics[i].messages);
    }
    return cost;
}

}  // namespace onceward::bench
