#include "lab/demo/run.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "cli/terminal/stop_request.h"
#include "dedup/postgres/connection.h"
#include "lab/demo/fault_plan.h"
#include "lab/demo/feeder.h"
#include "lab/demo/fleet.h"
#include "lab/queries.h"

namespace onceward::demo {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds next_look{50};
// Nothing that the faults do takes this long.
constexpr milliseconds standstill_limit{60'000};
// A worker is worth a strike when it has had the time to join its group and take partitions.
constexpr milliseconds striking_age{1'500};
// Time for one that woke to try what it had begun: nothing of it may take effect if others own its
// partitions by now.
constexpr milliseconds waking_time{700};
// The session timeout, the second that the mock cluster takes to look at it, and time to take over.
constexpr milliseconds session_end = Stage::session_timeout + milliseconds{1'000 + 600};

std::vector<AppliedKey> applied_keys(const Stage& stage) {
    Connection connection(stage.connection());
    const onceward::QueryResult rows = connection.prepared(lab_sql::demo_applied, {}, {}, true);
    std::vector<AppliedKey> keys;
    keys.reserve(static_cast<std::size_t>(rows.rows()));
    for (int row = 0; row < rows.rows(); ++row) {
        keys.push_back({topics.at(static_cast<std::size_t>(rows.binary_integer(row, 0))),
                        rows.binary_digest(row, 1), rows.binary_integer(row, 2)});
    }
    return keys;
}

class Run {
  public:
    Run(const Stage& stage, const RunOptions& options, Progress& progress)
        : options_(options),
          progress_(progress),
          workload_(options.seed, options.messages),
          connection_(stage.connection()),
          fleet_(fleet_options(stage, options)),
          feeder_({stage.bootstrap_servers(), stage.proto_file().string()}, workload_) {
        if (options.faults)
            faults_ = plan_faults({options.seed, options.messages, options.workers, session_end});
    }

    // Returns when the fences have passed every message and the workers have left.
    void work() {
        allow();
        while (!(feeder_.done() && feeder_.lag() == 0 && !fleet_.any_frozen())) {
            if (stop_requested()) throw Interrupted();
            feeder_.check();
            fleet_.check();
            look();
            strike();
            watch_for_standstill();
            std::this_thread::sleep_for(next_look);
        }
        seconds_ = std::chrono::duration<double>(last_move_ - begin_).count();
        fleet_.stop();
        progress_.clear();
        if (next_fault_ < faults_.size())
            throw std::runtime_error(
                "the work was done before all workers could be struck: give more --messages");
    }

    demo::QueryResult result(const Stage& stage) {
        demo::QueryResult result;
        result.verdict = judge(workload_.produced(), applied_keys(stage));
        result.killed = fleet_.killed();
        result.frozen = fleet_.frozen();
        result.messages_per_second = static_cast<double>(options_.messages) / seconds_;
        return result;
    }

  private:
    static FleetOptions fleet_options(const Stage& stage, const RunOptions& options) {
        return {{options.program.string(), "run", "-c", stage.configuration().string()},
                stage.folder(),
                options.workers};
    }

    // Where the fences are. Their counts are for the live line alone.
    void look() {
        const onceward::QueryResult rows = connection_.query(lab_sql::demo_fences, {});
        Standing standing;
        std::int64_t passed = 0;
        for (int row = 0; row < rows.rows(); ++row) {
            const Offset next{rows.integer(row, 2)};
            feeder_.passed({std::string(rows.text(row, 0)),
                            Partition{static_cast<std::int32_t>(rows.integer(row, 1))}},
                           next);
            passed += next.raw();
            standing.applied += rows.integer(row, 3);
            standing.duplicates += rows.integer(row, 4);
        }
        if (passed != passed_) last_move_ = Clock::now();
        passed_ = passed;
        standing.produced = feeder_.delivered();
        standing.lag = feeder_.lag();
        standing.killed = fleet_.killed();
        standing.frozen = fleet_.frozen();
        progress_.show(standing);
    }

    // One fault at a time, when its place in the stream is reached: so they come while there is
    // work, on any machine.
    void strike() {
        for (const int worker : fleet_.wake_due()) {
            progress_.note("worker " + std::to_string(worker + 1) + " wakes");
            calm_until_ = Clock::now() + waking_time;
        }
        if (next_fault_ == faults_.size() || fleet_.any_frozen()) return;
        if (Clock::now() < calm_until_) return;
        const Fault& fault = faults_[next_fault_];
        if (passed_ < fault.at || fleet_.age(fault.worker) < striking_age) return;
        const std::string name = "worker " + std::to_string(fault.worker + 1) + " (process " +
                                 std::to_string(fleet_.pid(fault.worker)) + ")";
        switch (fault.kind) {
            case Fault::Kind::kill:
                fleet_.kill(fault.worker);
                progress_.note(name + " killed with SIGKILL; another one takes its place");
                break;
            case Fault::Kind::freeze:
                fleet_.freeze(fault.worker, fault.duration);
                progress_.note(name + " frozen with SIGSTOP for " +
                               std::to_string(fault.duration.count()) + " ms");
                break;
        }
        ++next_fault_;
        allow();
    }

    // The producer stays less than one stretch ahead of the next fault, which so always finds work
    // under way.
    void allow() {
        if (next_fault_ == faults_.size()) {
            feeder_.allow(options_.messages);
            return;
        }
        const auto stretch = options_.messages / static_cast<std::int64_t>(faults_.size() + 1);
        feeder_.allow(faults_[next_fault_].at + stretch);
    }

    void watch_for_standstill() {
        if (Clock::now() - last_move_ < standstill_limit) return;
        std::string text = "nothing has moved for a minute; the ends of the workers' logs:";
        for (int worker = 0; worker < fleet_.size(); ++worker)
            text +=
                "\n--- worker " + std::to_string(worker + 1) + "\n" + tail_of(fleet_.log(worker));
        throw std::runtime_error(text);
    }

    const RunOptions& options_;
    Progress& progress_;
    Workload workload_;
    Connection connection_;
    std::vector<Fault> faults_;
    std::size_t next_fault_ = 0;
    std::int64_t passed_ = 0;
    double seconds_ = 0;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point last_move_ = begin_;
    Clock::time_point calm_until_ = begin_;
    Fleet fleet_;
    Feeder feeder_;
};

}  // namespace

QueryResult run(const Stage& stage, const RunOptions& options, Progress& progress) {
    Run run(stage, options, progress);
    run.work();
    return run.result(stage);
}

std::string dead_letters(const Stage& stage) {
    Connection connection(stage.connection());
    const onceward::QueryResult row = connection.query(lab_sql::demo_dead_letters, {});
    if (row.integer(0, 0) == 0) return "";
    return std::string(row.text(0, 0)) +
           " messages are in the dead letters, such as: " + std::string(row.text(0, 1));
}

}  // namespace onceward::demo
