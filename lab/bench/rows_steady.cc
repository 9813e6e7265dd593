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

std::string name_of(const SteadyRuns& load) {
    return fixed(load.share * 100, 0) + " % of the highest rate (" + fixed(load.rate, 0) + "/s)";
}

std::string text_of(const SteadyTimes& times) {
    return "p50 " + fixed(times.p50, 1) + " ms, p99 " + fixed(times.p99, 1) + " ms, p99.9 " +
           fixed(times.p999, 1) + " ms, longest " + fixed(times.longest, 1) +
           " ms; the producer was late by " + fixed(times.late, 1) + " ms at most";
}

Summary summary(const SteadyRuns& load, double SteadyTimes::*of) {
    std::vector<double> values;
    for (const SteadyTimes& run : load.runs) values.push_back(run.*of);
    return summarize(std::move(values));
}

SteadyTimes medians(const SteadyRuns& load) {
    SteadyTimes times;
    for (double SteadyTimes::* const of : {&SteadyTimes::p50, &SteadyTimes::p99, &SteadyTimes::p999,
                                           &SteadyTimes::longest, &SteadyTimes::late}) {
        times.*of = summary(load, of).median;
    }
    return times;
}

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
    const auto ms_at = [&](int column) {
        return std::stod(std::string(found.text(0, column))) * 1e3;
    };
    return {ms_at(1), ms_at(2), ms_at(3), ms_at(4),
            std::chrono::duration<double, std::milli>(load.latest).count()};
}

// A producer that keeps to a schedule takes more of the processors than one that fills large
// batches, so that it may not reach the highest share of that rate. Then all of it is done again at
// a lower one. The first loads warm everything up: for many seconds the broker's JVM compiles what
// a load needs, on a thread that takes half a core.
std::vector<SteadyRuns> Bench::steady_rounds(const ConnectionOptions& postgres) {
    constexpr int most_tries = 6;
    constexpr double lower = 0.9;
    setup_.progress("  loads that warm everything up, and are not measured");
    steady(postgres, shares[1] * highest_rate(postgres));
    double highest = highest_rate(postgres);
    for (int tries = 1;; ++tries) {
        try {
            steady(postgres, shares.back() * highest);
            return steady_rounds_of(postgres, highest);
        } catch (const LateProducer&) {
            if (tries == most_tries) throw;
            setup_.progress("  the producer does not keep up at " + fixed(highest, 0) + "/s");
            highest *= lower;
        }
    }
}

std::vector<SteadyRuns> Bench::steady_rounds_of(const ConnectionOptions& postgres, double highest) {
    std::vector<SteadyRuns> loads;
    for (const double share : shares) loads.push_back({share, share * highest, {}});
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        for (SteadyRuns& load : loads) {
            load.runs.push_back(steady(postgres, load.rate));
            setup_.progress("  " + std::to_string(round_) + ". " + name_of(load) + ": " +
                            text_of(load.runs.back()));
        }
    }
    return loads;
}

RowResult Bench::under_load() {
    // Only with this setting does the server keep the time of each COMMIT; the other rows do
    // without.
    PrivatePostgresOptions server = bench_server();
    server.settings.emplace_back("track_commit_timestamp", "on");
    const PrivatePostgres postgres(server);
    ConnectionOptions options;
    options.dsn = postgres.dsn();
    const std::vector<SteadyRuns> loads = steady_rounds(options);
    RowResult result =
        begin("19",
              "messages of 374 bytes with a key each, sent at a fixed rate to an empty "
              "topic; one worker with `log`, reach global; from when a message should have "
              "been sent to its COMMIT, after a load that is not measured, and without the "
              "first 2 s of each");
    for (std::size_t i = 0; i < loads.size(); ++i) {
        const SteadyTimes times = medians(loads[i]);
        result.outcomes.push_back({targets_of("19")[i], summary(loads[i], &SteadyTimes::p99)});
        result.latencies.push_back({name_of(loads[i]), times.p50, times.p99, times.p999});
        result.notes.push_back(name_of(loads[i]) + ": " + text_of(times) + " (medians)");
    }
    return result;
}

}  // namespace onceward::bench
