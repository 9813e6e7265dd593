// The row of what merging segments costs a worker, and what segments that are not merged do: 25.

#include <algorithm>

#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/loaded_ledger.h"

namespace onceward::bench {
namespace {

// As many as a merge takes at least, each as large as a generation is by default.
constexpr std::int64_t segments = 4;
constexpr std::int64_t claims_each = 2'000'000;
// So that the load outlasts the merge.
constexpr std::int64_t load = 4;

double batches(const Measurement& run) { return static_cast<double>(run.times.commits.size()); }

}  // namespace

RowResult Bench::merging() {
    const std::vector<std::string> names{"segments that stay as they are", "they are merged"};
    const auto topic = filled(extent_.messages * load, false, Form::plain);
    std::vector<std::vector<Measurement>> runs(2);
    std::vector<double> reads, wal, seconds;
    const std::int64_t each = std::min(extent_.claims / segments, claims_each);
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        {
            Tables tables(setup_.postgres, loaded_schema);
            const LoadedLedger ledger(tables, segments * each, each);
            const std::vector<std::function<void()>> meanwhile{
                [] {}, [&] { seconds.push_back(ledger.merge()); }};
            for (std::size_t i = 0; i < 2; ++i) {
                const std::int64_t before = ledger.segment_reads();
                runs[i].push_back(
                    consume_loaded(ledger, tables, *topic, plan(Claims::log), meanwhile[i]));
                say(names[i], runs[i].back());
                if (i == 1) continue;
                reads.push_back(static_cast<double>(ledger.segment_reads() - before) /
                                batches(runs[i].back()));
            }
        }
        // Once more while nothing else writes.
        Tables tables(setup_.postgres, loaded_schema);
        const LoadedLedger ledger(tables, segments * each, each);
        const std::int64_t written = tables.wal();
        ledger.merge();
        wal.push_back(static_cast<double>(tables.wal() - written) /
                      static_cast<double>(segments * each));
    }
    const auto commits = [&](std::size_t i) { return p99s(runs[i], &CommitTimes::commits); };
    const auto milliseconds = [](const std::vector<double>& all) {
        return milliseconds_text(summarize(all).median);
    };
    RowResult result =
        begin("25", consumed_setting(load) + ", no duplicates, one worker, `log`, reach global; " +
                        std::to_string(segments) + " segments of " + grouped(each) +
                        " random claims put there before each pair, and merged into one after the "
                        "first 5 % by retention's job");
    const auto targets = targets_of("25");
    result.outcomes = {{targets[0], ratio(commits(1), commits(0))},
                       {targets[1], ratio(rates(runs[1]), rates(runs[0]))},
                       {targets[2], summarize(wal)},
                       {targets[3], summarize(reads)}};
    result.lines = {line(names[1], runs[1]), line(names[0], runs[0])};
    result.notes = {"the merge took " + milliseconds(seconds) +
                    " under the load; p99 of a commit " + milliseconds(commits(1)) + " against " +
                    milliseconds(commits(0)) + " (medians)"};
    return result;
}

}  // namespace onceward::bench
