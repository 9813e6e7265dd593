// Rows that fill topics of their own, or need none: 6, 8, 15.

#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/idle.h"
#include "lab/bench/isolation.h"
#include "lab/bench/latency.h"

namespace onceward::bench {

RowResult Bench::isolation() {
    const auto side = [&](const char* name, auto write) {
        return Side{name, [this, write] {
                        Tables tables(setup_.postgres);
                        return write(setup_.place.cpu, tables, extent_.messages, extent_.batch);
                    }};
    };
    const std::vector<Side> sides{side("fence, claims and rows by `log`", write_by_processor),
                                  side("a COPY, bigint primary key", copy_into_keyed_table)};
    const auto runs = in_turn(sides);
    RowResult result =
        begin("6", grouped(extent_.messages) + " rows of five columns, " +
                       grouped(static_cast<std::int64_t>(extent_.batch.messages)) +
                       " a transaction, one session; digests and encoded rows are ready before "
                       "the clock runs; the primary key grows");
    result.outcomes.push_back({targets_of("6").front(), ratio(rates(runs[0]), rates(runs[1]))});
    result.lines = {line(sides[0].name, runs[0]), line(sides[1].name, runs[1])};
    return result;
}

RowResult Bench::replay_storm() {
    std::vector<std::vector<Measurement>> runs(2);
    const std::vector<std::string> names{"the first pass", "the second pass"};
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        const auto topic = make_topic(extent_.messages, false);
        Tables tables(setup_.postgres);
        for (std::size_t pass = 0; pass < 2; ++pass) {
            topic->fill();
            runs[pass].push_back(consume(setup_.place, topic->workload(), plan(Claims::log), tables,
                                         extent_.messages));
            tables.expect_rows(plain_table, extent_.messages);
            say(names[pass], runs[pass].back());
        }
    }
    RowResult result = begin("8", consumed_setting() +
                                      ", `log`, reach global; then the same messages once more "
                                      "after them, and the workers restarted");
    result.outcomes = {{targets_of("8")[0], ratio(rates(runs[1]), rates(runs[0]))},
                       {targets_of("8")[1], summarize(wal_bytes(runs[1]))}};
    result.lines = {line(names[0], runs[0]), line(names[1], runs[1])};
    return result;
}

RowResult Bench::idle() {
    std::vector<double> percents, megabytes;
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        const auto topic = make_topic(0, false);
        Tables tables(setup_.postgres);
        const IdleCost cost = run_idle(setup_.place, topic->workload(), tables, extent_.idle);
        percents.push_back(cost.percent_of_a_core);
        megabytes.push_back(cost.megabytes);
    }
    RowResult result =
        begin("16",
              "`onceward run`, a session timeout of 6 s and else default settings, an "
              "empty topic, an empty ledger by `log`");
    result.outcomes = {{targets_of("16")[0], summarize(percents)},
                       {targets_of("16")[1], summarize(megabytes)}};
    return result;
}

RowResult Bench::latency() {
    std::vector<double> commits, slow_commits, p50, p99;
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        const auto topic = make_topic(extent_.timed_messages, false);
        Tables tables(setup_.postgres);
        const Times times = time_messages(setup_.place, topic->workload(), plan(Claims::log),
                                          tables, extent_.timed_messages);
        commits.push_back(percentile(times.commits, 0.5));
        slow_commits.push_back(percentile(times.commits, 0.99));
        p50.push_back(percentile(times.visible, 0.5));
        p99.push_back(percentile(times.visible, 0.99));
        setup_.progress("  " + std::to_string(round_) + ". p50 " + milliseconds_text(p50.back()) +
                        ", p99 " + milliseconds_text(p99.back()) + "; a commit " +
                        milliseconds_text(commits.back()) + ", p99 " +
                        milliseconds_text(slow_commits.back()));
    }
    RowResult result = begin(
        "15", grouped(extent_.timed_messages) +
                  " messages one by one through an idle worker with `log`, reach global, in turn "
                  "with as many commits of one row; both against the commits' median");
    result.outcomes = {{targets_of("15")[0], ratio(p50, commits)},
                       {targets_of("15")[1], ratio(p99, commits)}};
    result.notes.push_back("p50 " + milliseconds_text(summarize(p50).median) + ", p99 " +
                           milliseconds_text(summarize(p99).median) + ", one commit " +
                           milliseconds_text(summarize(commits).median) + ", its p99 " +
                           milliseconds_text(summarize(slow_commits).median) + " (medians)");
    return result;
}

}  // namespace onceward::bench
