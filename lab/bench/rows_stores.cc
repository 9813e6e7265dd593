// The row that compares the stores of a global ledger where it is hard for one of them: 21.

#include <array>
#include <chrono>
#include <list>
#include <thread>

#include "lab/bench/bench.h"
#include "lab/bench/distant_standby.h"
#include "lab/bench/format.h"
#include "lab/bench/latency.h"
#include "lab/bench/worker_process.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

constexpr int processes = 8;

// How far away the synchronous standby is.
constexpr std::chrono::milliseconds round_trip{5};

ConnectionOptions options_of(const PrivatePostgres& server) {
    ConnectionOptions options;
    options.dsn = Secret(server.dsn());
    return options;
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
    const PrivatePostgres alone(bench_server());
    PrivatePostgres primary(bench_server());
    const DistantStandby standby(primary, round_trip);
    const std::array servers{options_of(alone), options_of(primary)};
    std::array<double, 2> commits{};
    for (std::size_t i = 0; i < servers.size(); ++i) {
        Tables tables(servers[i]);
        commits[i] = summarize(time_commits(tables, extent_.timed_messages)).median;
    }
    std::vector<std::vector<double>> rates_of(4);
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        for (std::size_t i = 0; i < rates_of.size(); ++i) {
            rates_of[i].push_back(
                by_processes(servers[i / 2], i % 2 == 0 ? Claims::log : Claims::table));
            setup_.progress("  " + std::to_string(round_) + ". eight processes, " +
                            (i % 2 == 0 ? "`log`" : "`table`") + (i < 2 ? "" : ", a standby") +
                            ": " + fixed(rates_of[i].back(), 0) + " messages/s");
        }
    }
    RowResult result = begin("21", consumed_setting() +
                                       ", one worker; and eight processes of one worker each "
                                       "while a producer fills the topic, also with a synchronous "
                                       "standby on this machine, through a link whose round trip "
                                       "takes 5 ms");
    const auto targets = targets_of("21");
    result.outcomes = {{targets[0], ratio(rates(runs[1]), rates(runs[0]))},
                       {targets[1], ratio(rates(runs[1]), rates(runs[2]))},
                       {targets[2], ratio(rates_of[0], rates_of[1])},
                       {targets[3], ratio(rates_of[2], rates_of[3])}};
    for (std::size_t i = 0; i < sides.size(); ++i) {
        result.lines.push_back(line(sides[i].name + (i > 0 ? ", 10 % duplicates" : ""), runs[i]));
    }
    const auto note = [&](const char* setting, std::size_t server) {
        const auto rate = [&](std::size_t i) {
            return grouped(static_cast<std::int64_t>(summarize(rates_of[i]).median));
        };
        return setting + (": `log` " + rate(2 * server)) + " messages/s, `table` " +
               rate(2 * server + 1) + "; a lone commit of one row takes " +
               milliseconds_text(commits[server]) + " (median)";
    };
    result.notes = {note("eight processes", 0), note("with the standby", 1)};
    return result;
}

}  // namespace onceward::bench
