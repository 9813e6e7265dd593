// The row that compares the stores of a global ledger where it is hard for one of them: 21.

#include <chrono>
#include <list>
#include <thread>

#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/worker_process.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

constexpr int processes = 8;

// Each commit takes so long more, as with a synchronous standby that far away. Under load the
// server groups commits, as it does where it waits for a standby.
constexpr std::chrono::milliseconds standby_delay{5};

PrivatePostgresOptions slow_commits(PrivatePostgresOptions server) {
    server.settings.emplace_back("commit_delay",
                                 std::to_string(std::chrono::microseconds(standby_delay).count()));
    server.settings.emplace_back("commit_siblings", "0");
    return server;
}

}  // namespace

// Messages a second from the first that is sent to the last row, while a producer sends as fast as
// it can.
double Bench::by_processes(const ConnectionOptions& postgres, Claims claims) const {
    const auto topic = make_topic(extent_.messages, false, Form::plain, processes);
    const Workload& workload = topic->workload();
    Tables tables(postgres);
    std::list<WorkerProcess> workers;
    for (int i = 0; i < processes; ++i) {
        workers.emplace_back(setup_.place, workload, tables, claims);
    }
    workers.front().wait_until(
        [&] {
            return tables.connection()
                       .query(lab_sql::bench_owners, Parameters{}.text(workload.topic))
                       .integer(0, 0) == processes;
        },
        "for all processes to have partitions");
    const auto begin = std::chrono::steady_clock::now();
    topic->fill();
    // By the fences: counting the rows again and again would cost more than the workers do.
    const auto passed = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return tables.connection()
            .query(lab_sql::bench_passed, Parameters{}.text(workload.topic))
            .integer(0, 0);
    };
    workers.front().wait_until([&] { return passed() >= workload.messages; }, "for all messages");
    const double rate = static_cast<double>(workload.messages) / seconds_since(begin);
    for (WorkerProcess& worker : workers) worker.end(SIGTERM);
    tables.expect_rows(plain_table, workload.messages);
    return rate;
}

RowResult Bench::stores() {
    const auto repeated = filled(extent_.messages, true, Form::plain);
    const std::vector<Side> sides{consumed(plain(), plan(Claims::log)),
                                  consumed(*repeated, plan(Claims::log)),
                                  consumed(*repeated, plan(Claims::table))};
    const auto runs = in_turn(sides);
    const PrivatePostgres quick(bench_server()), slow(slow_commits(bench_server()));
    std::vector<std::vector<double>> rates_of(4);
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        for (std::size_t i = 0; i < 4; ++i) {
            ConnectionOptions options;
            options.dsn = i < 2 ? quick.dsn() : slow.dsn();
            rates_of[i].push_back(by_processes(options, i % 2 == 0 ? Claims::log : Claims::table));
            setup_.progress("  " + std::to_string(round_) + ". eight processes, " +
                            (i % 2 == 0 ? "`log`" : "`table`") + (i < 2 ? "" : ", slow commits") +
                            ": " + fixed(rates_of[i].back(), 0) + " messages/s");
        }
    }
    RowResult result = begin("21", consumed_setting() +
                                       ", one worker; and eight processes of one worker each "
                                       "while a producer fills the topic, also with commits that "
                                       "take 5 ms more (commit_delay)");
    const auto targets = targets_of("21");
    result.outcomes = {{targets[0], ratio(rates(runs[1]), rates(runs[0]))},
                       {targets[1], ratio(rates(runs[1]), rates(runs[2]))},
                       {targets[2], ratio(rates_of[0], rates_of[1])},
                       {targets[3], ratio(rates_of[2], rates_of[3])}};
    for (std::size_t i = 0; i < sides.size(); ++i) {
        result.lines.push_back(line(sides[i].name + (i > 0 ? ", 10 % duplicates" : ""), runs[i]));
    }
    const auto median = [](const std::vector<double>& values) {
        return grouped(static_cast<std::int64_t>(summarize(values).median));
    };
    result.notes = {
        "eight processes: `log` " + median(rates_of[0]) + " messages/s, `table` " +
            median(rates_of[1]),
        "with slow commits: `log` " + median(rates_of[2]) + ", `table` " + median(rates_of[3])};
    return result;
}

}  // namespace onceward::bench
