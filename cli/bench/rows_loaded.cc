// Rows of a ledger that holds many claims already: 7, 12, 13, 14.

#include <algorithm>

#include "cli/bench/bench.h"
#include "cli/bench/format.h"
#include "cli/bench/loaded_ledger.h"

namespace onceward::bench {

// The tables are kept, for the sake of the ledger, and the keys are others in each run.
Side Bench::loaded_side(Tables& tables) {
    const Workload& workload = plain().workload();
    return {"the loaded ledger", [this, &tables, &workload] {
                tables.begin_anew();
                const Measurement run =
                    consume(setup_.place, workload, plan(Claims::log), tables, workload.messages);
                tables.expect_rows(plain_table, distinct_keys(workload));
                return run;
            }};
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
    if (!wanted("7") && !wanted("14")) return results;
    Side empty = consumed(plain(), plan(Claims::log));
    empty.name = "an empty ledger";
    const std::vector<Side> sides{loaded_side(tables), empty};
    const auto runs = in_turn(sides);
    if (wanted("7")) {
        RowResult result = begin("7", consumed_setting() + ", no duplicates, one worker; " + held);
        result.outcomes.push_back({targets_of("7").front(), ratio(rates(runs[0]), rates(runs[1]))});
        result.lines = {line(sides[0].name, runs[0]), line(sides[1].name, runs[1])};
        results.push_back(std::move(result));
    }
    if (wanted("14")) {
        std::vector<double> seconds;
        for (const Measurement& run : runs[0]) seconds.push_back(run.first_commit);
        RowResult result = begin("14", held +
                                           "; a new worker that knows nothing, from the moment "
                                           "when all partitions are assigned; nobody is killed");
        result.outcomes.push_back({targets_of("14").front(), summarize(std::move(seconds))});
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace onceward::bench
