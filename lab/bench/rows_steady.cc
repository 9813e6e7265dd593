// The row of latency under a steady load: 19.

#include <array>
#include <thread>

#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/steady_load.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::array shares{0.1, 0.5, 0.8};
constexpr auto settles_for = 2s;  // at the beginning; not measured

double epoch_seconds(std::chrono::system_clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string milliseconds(double seconds) { return fixed(seconds * 1e3, 1); }

}  // namespace

// A producer sends as fast as it can, and the worker reads at the same time: both share the
// processors as they do under the steady loads.
double Bench::highest_rate(const ConnectionOptions& postgres) const {
    const auto topic = make_topic(extent_.messages, false);
    Tables tables(postgres);
    const std::jthread filling([&] { topic->fill(); });
    return consume(setup_.place, topic->workload(), plan(Claims::log), tables, extent_.messages)
        .rate();
}

SteadyTimes Bench::steady(const ConnectionOptions& postgres, double rate) const {
    const double seconds = std::chrono::duration<double>(settles_for + extent_.steady).count();
    const auto topic = make_topic(static_cast<std::int64_t>(rate * seconds), false);
    const Workload& workload = topic->workload();
    Tables tables(postgres);
    tables.checkpoint();
    Workers workers(setup_.place, workload, plan(Claims::log), tables);
    workers.begin();
    const auto partitions = static_cast<std::size_t>(workload.partitions);
    wait_until([&] { return workers.reading() == partitions; }, "for the fences");
    const LoadTimes load = send_steadily(setup_.place.bootstrap_servers, workload, rate);
    wait_until([&] { return workers.totals().passed() >= workload.messages; }, "for the messages");
    workers.stop();
    tables.expect_rows(plain_table, workload.messages);
    const QueryResult found = tables.connection().query(
        lab_sql::bench_latency,
        {std::to_string(epoch_seconds(load.begin + settles_for)),
         std::to_string(epoch_seconds(load.end))},
        {{"table", plain_table}});
    const auto seconds_at = [&](int column) {
        return std::stod(std::string(found.text(0, column)));
    };
    return {seconds_at(1), seconds_at(2), seconds_at(3), seconds_at(4)};
}

RowResult Bench::under_load() {
    // Only with this setting does the server keep the time of each COMMIT; the other rows do
    // without.
    PrivatePostgresOptions server = bench_server();
    server.settings.emplace_back("track_commit_timestamp", "on");
    const PrivatePostgres postgres(server);
    ConnectionOptions options;
    options.dsn = postgres.dsn();
    std::vector<double> highest;
    std::array<std::vector<SteadyTimes>, shares.size()> times;
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        highest.push_back(highest_rate(options));
        for (std::size_t i = 0; i < shares.size(); ++i) {
            times[i].push_back(steady(options, shares[i] * highest.front()));
            const SteadyTimes& last = times[i].back();
            setup_.progress("  " + std::to_string(round_) + ". at " + fixed(shares[i] * 100, 0) +
                            " %: p50 " + milliseconds(last.p50) + " ms, p99 " +
                            milliseconds(last.p99) + " ms, p99.9 " + milliseconds(last.p999) +
                            " ms");
        }
    }
    RowResult result =
        begin("19", "messages of 374 bytes with a key each, sent at a fixed rate to an empty "
                    "topic; one worker with `log`, reach global; from when a message should have "
                    "been sent to its COMMIT, the first 2 s not measured");
    const auto median = [](const std::vector<SteadyTimes>& runs, double SteadyTimes::*of) {
        std::vector<double> values;
        for (const SteadyTimes& run : runs) values.push_back(run.*of * 1e3);
        return summarize(std::move(values));
    };
    for (std::size_t i = 0; i < shares.size(); ++i) {
        result.outcomes.push_back({targets_of("19")[i], median(times[i], &SteadyTimes::p99)});
        result.notes.push_back(
            "at " + fixed(shares[i] * 100, 0) + " % of the highest rate (" +
            grouped(static_cast<std::int64_t>(shares[i] * highest.front())) +
            " messages/s): p50 " + fixed(median(times[i], &SteadyTimes::p50).median, 1) +
            " ms, p99 " + fixed(median(times[i], &SteadyTimes::p99).median, 1) + " ms, p99.9 " +
            fixed(median(times[i], &SteadyTimes::p999).median, 1) + " ms, longest " +
            fixed(median(times[i], &SteadyTimes::longest).maximum, 1) + " ms");
    }
    return result;
}

}  // namespace onceward::bench
