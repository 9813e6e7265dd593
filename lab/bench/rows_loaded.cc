// Rows of a ledger that holds many claims already: 7, 9, 12, 13, 14.

#include <algorithm>
#include <csignal>

#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/loaded_ledger.h"
#include "lab/bench/worker_process.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

constexpr std::int64_t most_deleted = 1'000'000;
constexpr std::int64_t most_before_the_kill = 100'000;
// A file system takes a second or two to free the tables of 100 million claims, and holds back
// what is written meanwhile. That is most of a run of seconds; who purges has load for hours.
constexpr std::int64_t purge_load = 16;

// Nothing that dies meanwhile can be taken away before the session's end.
Connection hold_snapshot(ConnectionOptions options) {
    options.idle_in_transaction_timeout = std::chrono::hours(1);
    Connection connection(options);
    connection.execute(lab_sql::bench_snapshot);
    return connection;
}

}  // namespace

// The keys are others in each run.
Measurement Bench::consume_loaded(const LoadedLedger& ledger, Tables& tables, const Topic& topic,
                                  const Plan& by, const std::function<void()>& meanwhile) {
    const Workload& workload = topic.workload();
    ledger.forget_new_claims();
    tables.begin_anew();
    Measurement run = consume(setup_.place, workload, by, tables, workload.messages, meanwhile);
    tables.expect_rows(plain_table, distinct_keys(workload));
    return run;
}

std::vector<RowResult> Bench::loaded(const std::vector<std::string>& rows) {
    const auto wanted = [&](const char* row) { return std::ranges::find(rows, row) != rows.end(); };
    Tables tables(setup_.postgres, loaded_schema);
    setup_.progress("loading a ledger with " + grouped(extent_.claims) + " claims");
    const LoadedLedger ledger(tables, extent_.claims);
    const std::string held = "a ledger by `log`, reach global, with " + grouped(extent_.claims) +
                             " random claims, put there before";
    std::vector<RowResult> results;
    const auto add_measured = [&](const char* row, double value, const std::string& how) {
        RowResult result;
        result.row = targets_of(row).front()->row;
        result.setting = held + "; " + how;
        result.outcomes.push_back({targets_of(row).front(), {value, value, value}});
        results.push_back(std::move(result));
    };
    if (wanted("12")) {
        add_measured("12", ledger.disk_bytes_a_claim(),
                     "tables, indexes and TOAST, no fingerprints");
    }
    if (wanted("13")) {
        add_measured("13", ledger.memory_bytes_a_claim(),
                     "the window that a process reads at its start, as it counts itself");
    }
    // Before row 7, whose claims nothing seals: a start would read all of them.
    if (wanted("14")) {
        std::vector<double> seconds;
        for (round_ = 1; round_ <= extent_.pairs; ++round_) {
            seconds.push_back(after_a_kill(tables));
            setup_.progress("  " + std::to_string(round_) +
                            ". the first commit: " + fixed(seconds.back(), 2) + " s");
        }
        RowResult result = begin("14", held +
                                           "; a worker is killed (SIGKILL) after its first "
                                           "commits, and another process takes over, from the "
                                           "moment when all partitions are assigned to it");
        result.outcomes.push_back({targets_of("14").front(), summarize(std::move(seconds))});
        results.push_back(std::move(result));
    }
    if (wanted("7")) {
        Side empty = consumed(plain(), plan(Claims::log));
        empty.name = "an empty ledger";
        const Plan by = plan(Claims::log);
        const std::vector<Side> sides{
            {"the loaded ledger", [&] { return consume_loaded(ledger, tables, plain(), by); }},
            empty};
        const auto runs = in_turn(sides);
        RowResult result = begin("7", consumed_setting() + ", no duplicates, one worker; " + held +
                                          ", and no others when a run begins");
        result.outcomes.push_back({targets_of("7").front(), ratio(rates(runs[0]), rates(runs[1]))});
        result.lines = {line(sides[0].name, runs[0]), line(sides[1].name, runs[1])};
        results.push_back(std::move(result));
    }
    return results;
}

double Bench::after_a_kill(Tables& tables) {
    tables.begin_anew();
    const auto topic = make_topic(std::min(extent_.messages, most_before_the_kill), false);
    WorkerProcess killed(setup_.place, topic->workload(), tables);
    topic->fill();
    killed.wait_until([&] { return tables.arrived(plain_table) > 0; }, "for the first rows");
    killed.end(SIGKILL);
    topic->fill();
    return first_commit(setup_.place, topic->workload(), plan(Claims::log), tables);
}

RowResult Bench::purge() {
    const std::vector<std::string> names{"a snapshot is held open",
                                         "the same, and the claims are purged"};
    const std::int64_t deleted = std::min(extent_.claims, most_deleted);
    const double scale = static_cast<double>(extent_.claims) / static_cast<double>(deleted);
    std::vector<std::vector<Measurement>> runs(2);
    std::vector<double> purges, deletes, dead;
    const auto topic = filled(extent_.messages * purge_load, false, Form::plain);
    Plan by = plan(Claims::log);
    by.claims_memory = std::size_t{1} << 30;
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        setup_.progress("loading a ledger with " + grouped(extent_.claims) + " claims");
        Tables tables(setup_.postgres, loaded_schema);
        const LoadedLedger ledger(tables, extent_.claims);
        const std::vector<std::function<void()>> meanwhile{
            [] {}, [&] { purges.push_back(ledger.purge()); }};
        for (std::size_t i = 0; i < 2; ++i) {
            const Connection snapshot = hold_snapshot(tables.options());
            runs[i].push_back(consume_loaded(ledger, tables, *topic, by, meanwhile[i]));
            say(names[i], runs[i].back());
        }
        dead.push_back(static_cast<double>(ledger.dead_rows()));
        deletes.push_back(delete_in_batches(tables, deleted) * scale);
        setup_.progress("  " + std::to_string(round_) +
                        ". the purge: " + fixed(purges.back() * 1e3, 0) +
                        " ms, a batched DELETE: " + fixed(deletes.back(), 1) + " s");
    }
    const auto commits = [&](std::size_t i) { return p99s(runs[i], &CommitTimes::commits); };
    const auto transactions = [&](std::size_t i) {
        return p99s(runs[i], &CommitTimes::transactions);
    };
    const auto milliseconds = [](const std::vector<double>& seconds) {
        return milliseconds_text(summarize(seconds).median);
    };
    RowResult result = begin(
        "9",
        consumed_setting(purge_load) + ", no duplicates, one worker, `log`, reach global. " +
            grouped(extent_.claims) +
            " random claims are put there before each pair, and there are no others when a run "
            "begins. The worker may hold 1 GiB of claims, as nothing seals the new ones. They are "
            "purged after the first 5 %: unlisted under the ledger's lock without "
            "waiting for the watermark, then dropped by retention's job. A REPEATABLE READ "
            "snapshot is open through each run. p99 is how long COMMIT takes to be answered. The "
            "DELETE goes through " +
            grouped(deleted) +
            " claims of a `table` ledger in the order of the table's file, 10,000 a transaction, "
            "with nothing at the same time and no VACUUM after it, and its time counts " +
            fixed(scale, 0) + " times");
    const auto targets = targets_of("9");
    result.outcomes = {{targets[0], ratio(rates(runs[1]), rates(runs[0]))},
                       {targets[1], ratio(commits(1), commits(0))},
                       {targets[2], summarize(dead)},
                       {targets[3], ratio(deletes, purges)}};
    result.lines = {line(names[1], runs[1]), line(names[0], runs[0])};
    result.notes = {"the purge " + milliseconds(purges) + ", p99 of a commit " +
                        milliseconds(commits(1)) + " against " + milliseconds(commits(0)),
                    "p99 of a whole transaction, its wait for the ledger's lock included, " +
                        milliseconds(transactions(1)) + " against " +
                        milliseconds(transactions(0)) + " (medians)"};
    return result;
}

}  // namespace onceward::bench
