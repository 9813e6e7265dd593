#include "lab/bench/targets.h"

#include <algorithm>
#include <array>

namespace onceward::bench {
namespace {

constexpr auto higher = Better::higher;
constexpr auto lower = Better::lower;
constexpr auto peers = MeasuredBy::peers;

constexpr std::array all{
    Target{"1", "`log`, reach global, one worker", "dedup off", higher, 0.70, 0.90},
    Target{"2", "`log`, reach partition, one worker", "dedup off", higher, 0.80, 0.95},
    Target{"3", "`table`, one worker", "dedup off", higher, 0.30, 0.50},
    Target{"4", "`log`", "Debezium's JDBC sink (upsert)", higher, 5, 12, peers},
    Target{"4b", "`log`, no duplicates", "a spring-kafka batch listener with claims", higher, 4, 8,
           peers},
    Target{"4b", "`log`, 10 % duplicates", "a spring-kafka batch listener with claims", higher, 4,
           8, peers},
    Target{"4c", "a spring-kafka batch listener with claim_many()", "one with hand-written claims",
           higher, 0.8, 1.0, peers},
    Target{"5", "`log`, exactly once, four columns", "kcat piped into psql's \\copy", higher, 0.7,
           1.05, peers},
    Target{"6", "claims and rows by `log`, without Kafka", "a COPY into a table with a bigint key",
           higher, 1.2, 1.5},
    Target{"7", "`log` with 100 million live claims", "an empty ledger", higher, 0.85, 0.95},
    Target{"8", "the whole topic produced a second time", "the first pass", higher, 2.0, 3.0},
    Target{"8", "WAL bytes a duplicate", "nothing", lower, 20, 1},
    Target{"9", "rate while 100 million claims are purged", "the same load without the purge",
           higher, 0.9, 0.95},
    Target{"9", "p99 of a commit meanwhile", "the same load without the purge", lower, 1.5, 1.1},
    Target{"9", "dead rows in the claims' tables after the purge", "nothing", lower, 0, 0},
    Target{"9", "seconds of a batched DELETE of as many claims", "the purge", higher, 1'000, 1'000},
    Target{"10", "`log`, one worker", "a transaction a message with its claim", higher, 50, 100},
    Target{"11", "`log`, two workers", "two with dedup off", higher, 0.65, 0.90},
    Target{"11", "`log`, four workers", "four with dedup off", higher, 0.65, 0.90},
    Target{"11b", "`log`, two workers, 10 % duplicates", "one worker with the same", higher, 1.0,
           1.3},
    Target{"12", "bytes on disk a claim, sealed", "nothing", lower, 25, 24},
    Target{"13", "bytes of memory a sealed claim", "nothing", lower, 1.6, 1.5},
    Target{"14", "seconds to a new worker's first commit, 100 million claims", "nothing", lower,
           1.2, 1},
    Target{"15", "p50 from acknowledged to visible, idle worker", "one fsynced single-row commit",
           lower, 3.0, 2.5},
    Target{"15", "p99 from acknowledged to visible, idle worker", "one fsynced single-row commit",
           lower, 10, 8},
    Target{"16", "an idle worker's share of a core, in percent", "nothing", lower, 0.6, 0.5},
    Target{"16", "an idle worker's memory, in MB", "nothing", lower, 40, 30},
    Target{"17", "`log`, traces at 1 %, scraped every 5 s", "the same without", higher, 0.97, 0.99},
    Target{"18", "`log`, Avro by a registry", "the same messages as JSON", higher, 0.85, 1.0},
    Target{"19", "p99 in ms at 10 % of the highest rate", "nothing", lower, 40, 20},
    Target{"19", "p99 in ms at 50 % of the highest rate", "nothing", lower, 80, 50},
    Target{"19", "p99 in ms at 80 % of the highest rate", "nothing", lower, 200, 100},
    Target{"21", "`log`, 10 % duplicates", "`log`, no duplicates", higher, 0.9, 1.0},
    Target{"21", "`log`, 10 % duplicates", "`table`, the same", higher, 3.0, 4.0},
    Target{"21", "`log`, eight processes", "`table`, the same", higher, 1.0, 1.5},
    Target{"21", "`log`, eight processes, a standby 5 ms away", "`table`, the same", higher, 1.0,
           1.5},
    Target{"22", "rate, 500 partitions and four workers", "4 partitions", higher, 0.5, 0.8},
    Target{"22", "the worker's CPU a message", "4 partitions", lower, 2.5, 1.25},
    Target{"22", "memory at most", "4 partitions", lower, 3, 1.25},
    Target{"22", "ms of a start for each further partition", "nothing", lower, 20, 4},
    Target{"22", "ms of a restart for each further partition", "nothing", lower, 20, 4},
    Target{"23", "rate, 64 topics of 2 partitions", "one topic of 128", higher, 0.5, 0.8},
    Target{"23", "the worker's CPU a message", "one topic of 128", lower, 2.5, 1.25},
    Target{"23", "memory at most", "one topic of 128", lower, 3, 1.25},
    Target{"23", "ms of a start for each further topic", "nothing", lower, 150, 30},
    Target{"23", "ms of a restart for each further topic", "nothing", lower, 150, 30},
    Target{"25", "p99 of a commit while segments merge", "the same without", lower, 3, 1.5},
    Target{"25", "rate meanwhile", "the same without", higher, 0.5, 0.8},
    Target{"25", "WAL bytes of a merge, a claim", "nothing", lower, 50, 30},
    Target{"25", "segments' blocks read a batch, for claims that are new", "nothing", lower, 5, 1},
};

}  // namespace

std::span<const Target> targets() { return all; }

std::vector<const Target*> targets_of(std::string_view row) {
    std::vector<const Target*> found;
    for (const Target& target : all) {
        if (target.row == row) found.push_back(&target);
    }
    return found;
}

std::vector<std::string_view> measured_rows(bool with_peers) {
    std::vector<std::string_view> rows;
    for (const Target& target : all) {
        const bool known = std::ranges::find(rows, target.row) != rows.end();
        const bool measured =
            target.by == MeasuredBy::bench || (with_peers && target.by == MeasuredBy::peers);
        if (measured && !known) rows.push_back(target.row);
    }
    return rows;
}

bool meets(const Target& target, double limit, double value) {
    switch (target.better) {
        case Better::higher: return value >= limit;
        case Better::lower: return value <= limit;
    }
    return false;
}

}  // namespace onceward::bench
