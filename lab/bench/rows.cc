#include "lab/bench/rows.h"

#include <algorithm>
#include <thread>

#include "dedup/message/digest.h"
#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/latency.h"
#include "lab/bench/worker_process.h"

namespace onceward::bench {
namespace {

// A worker without messages looks at its ledger each second.
constexpr auto reads_within = std::chrono::seconds(2);

std::string name_of(Claims claims) {
    switch (claims) {
        case Claims::off: return "dedup off";
        case Claims::table: return "`table`";
        case Claims::log: return "`log`, reach global";
        case Claims::log_partition: return "`log`, reach partition";
    }
    return "";
}

std::string name_of(const Plan& plan) {
    std::string name = name_of(plan.claims);
    if (plan.batch.messages == 1) name += ", a transaction a message";
    if (plan.workers > 1) name += ", " + std::to_string(plan.workers) + " workers";
    return name;
}

// Those of `some` that are among `rows`.
std::vector<std::string> chosen(const std::vector<std::string>& rows,
                                std::initializer_list<const char*> some) {
    std::vector<std::string> found;
    for (const char* row : some) {
        if (std::ranges::find(rows, row) != rows.end()) found.emplace_back(row);
    }
    return found;
}

using Measure = std::function<std::vector<RowResult>()>;

// The rows of `rows` that are among these, by one measuring; where it fails, each of them says so.
void measure_rows(const Setup& setup, const std::vector<std::string>& rows, const Measure& measure,
                  std::vector<RowResult>& results) {
    if (rows.empty()) return;
    std::string names;
    for (const std::string& row : rows) names += (names.empty() ? "" : ", ") + row;
    setup.progress("row " + names);
    try {
        for (RowResult& result : measure()) results.push_back(std::move(result));
    } catch (const std::exception& error) {
        setup.progress("row " + names + " failed: " + error.what());
        for (const std::string& row : rows) {
            RowResult result;
            result.row = targets_of(row).front()->row;
            result.failure = error.what();
            results.push_back(std::move(result));
        }
    }
}

}  // namespace

// As many partitions as the bench was told, unless `partitions` says how many.
std::unique_ptr<Topic> Bench::make_topic(std::int64_t messages, bool duplicates, Form form,
                                         int partitions) const {
    Workload workload;
    workload.topic = "onceward-bench-" + new_uuid().substr(0, 8);
    workload.messages = messages;
    workload.partitions = partitions > 0 ? partitions : extent_.partitions;
    workload.duplicates = duplicates;
    workload.form = form;
    return std::make_unique<Topic>(setup_.place.bootstrap_servers, workload);
}

const Topic& Bench::plain() {
    if (!plain_) plain_ = filled(extent_.messages, false, Form::plain);
    return *plain_;
}

void Bench::say(const std::string& name, const Measurement& run) const {
    setup_.progress("  " + std::to_string(round_) + ". " + name + ": " + fixed(run.rate(), 0) +
                    " messages/s");
}

Side Bench::consumed(const Topic& topic, const Plan& plan, std::optional<std::int64_t> part) {
    const Workload& workload = topic.workload();
    return {name_of(plan), [this, &workload, plan, part] {
                Tables tables(setup_.postgres);
                const Measurement run =
                    consume(setup_.place, workload, plan, tables, part.value_or(workload.messages));
                tables.expect_rows(table_of(workload), part ? run.applied : distinct_keys(workload),
                                   key_column_of(workload));
                return run;
            }};
}

std::vector<std::vector<Measurement>> Bench::in_turn(const std::vector<Side>& sides) {
    std::vector<std::vector<Measurement>> runs(sides.size());
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            runs[i].push_back(sides[i].run());
            say(sides[i].name, runs[i].back());
        }
    }
    return runs;
}

RowResult Bench::begin(std::string_view row, const std::string& setting) const {
    RowResult result;
    result.row = row;
    result.setting = setting + "; " + std::to_string(extent_.pairs) + " pairs, interleaved";
    return result;
}

std::string Bench::consumed_setting(std::int64_t times) const {
    return grouped(extent_.messages * times) + " JSON messages of 374 bytes with a key each in " +
           std::to_string(extent_.partitions) + " partitions of a topic that is full, batches of " +
           grouped(static_cast<std::int64_t>(extent_.batch.messages)) +
           " at most, a table of five columns without an index, the first 5 % not measured";
}

std::vector<RowResult> Bench::against_dedup_off(const std::vector<std::string>& rows) {
    std::vector<Side> sides{consumed(plain(), plan(Claims::off))};
    for (const std::string& row : rows) {
        const Claims claims = row == "1"   ? Claims::log
                              : row == "2" ? Claims::log_partition
                                           : Claims::table;
        sides.push_back(consumed(plain(), plan(claims)));
    }
    const auto runs = in_turn(sides);
    std::vector<RowResult> results;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Target* target = targets_of(rows[i]).front();
        RowResult result = begin(target->row, consumed_setting() + ", no duplicates, one worker");
        result.outcomes.push_back({target, ratio(rates(runs[i + 1]), rates(runs[0]))});
        result.lines = {line(sides[i + 1].name, runs[i + 1]), line(sides[0].name, runs[0])};
        results.push_back(std::move(result));
    }
    return results;
}

RowResult Bench::single() {
    Plan one = plan(Claims::table);
    one.batch.messages = 1;
    const std::int64_t part = std::min(extent_.single_messages, extent_.messages);
    const std::vector<Side> sides{consumed(plain(), plan(Claims::log)),
                                  consumed(plain(), one, part)};
    const double fsync = time_fsync(setup_.folder);
    const auto runs = in_turn(sides);
    RowResult result = begin("10", consumed_setting() + ", no duplicates, one worker; of them " +
                                       grouped(part) + " with a transaction each");
    result.outcomes.push_back({targets_of("10").front(), ratio(rates(runs[0]), rates(runs[1]))});
    result.lines = {line(sides[0].name, runs[0]), line(sides[1].name, runs[1])};
    result.notes.push_back("one fsync of 8 KiB at a file's end: " + fixed(fsync * 1e3, 2) +
                           " ms (median). The ratio depends on it");
    return result;
}

RowResult Bench::workers() {
    RowResult result =
        begin("11", consumed_setting() + ", no duplicates, the workers of one process");
    int count = 1;
    for (const Target* target : targets_of("11")) {
        count *= 2;
        const std::vector<Side> sides{consumed(plain(), plan(Claims::log, count)),
                                      consumed(plain(), plan(Claims::off, count))};
        const auto runs = in_turn(sides);
        result.outcomes.push_back({target, ratio(rates(runs[0]), rates(runs[1]))});
        for (std::size_t i = 0; i < 2; ++i) result.lines.push_back(line(sides[i].name, runs[i]));
    }
    result.notes.push_back(cost_of_reading_along());
    return result;
}

std::string Bench::cost_of_reading_along() {
    std::vector<double> worker, sessions;
    const auto silent = make_topic(0, false);
    const double millions = static_cast<double>(extent_.messages) / 1e6;
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        Tables tables(setup_.postgres);
        const WorkerProcess reader(setup_.place, silent->workload(), tables);
        const ProcessCpu before = reader.cpu(tables);
        consume(setup_.place, plain().workload(), plan(Claims::log), tables, extent_.messages);
        std::this_thread::sleep_for(reads_within);
        const ProcessCpu after = reader.cpu(tables);
        worker.push_back((after.worker - before.worker) / millions);
        sessions.push_back((after.sessions - before.sessions) / millions);
    }
    return "another process with the same ledger and no messages reads what these claim: " +
           fixed(summarize(worker).median, 2) + " CPU s of its own and " +
           fixed(summarize(sessions).median, 2) +
           " of PostgreSQL's a million claims (medians). This includes what it costs while it is "
           "idle";
}

RowResult Bench::duplicates() {
    const auto topic = make_topic(extent_.messages, true);
    topic->fill();
    const std::vector<Side> sides{consumed(*topic, plan(Claims::log, 2)),
                                  consumed(*topic, plan(Claims::log))};
    const auto runs = in_turn(sides);
    RowResult result = begin("11b", consumed_setting() +
                                        ", 10 % of them repeat a key of another partition, nine "
                                        "of ten within the last 50,000 messages");
    result.outcomes.push_back({targets_of("11b").front(), ratio(rates(runs[0]), rates(runs[1]))});
    result.lines = {line(sides[0].name, runs[0]), line(sides[1].name, runs[1])};
    return result;
}

PrivatePostgresOptions bench_server() {
    PrivatePostgresOptions server;
    server.settings = {{"shared_buffers", "512MB"}, {"max_wal_size", "8GB"}};
    return server;
}

Extent quick_extent() {
    Extent extent;
    extent.messages = 4'000;
    extent.single_messages = 100;
    extent.claims = 20'000;
    extent.timed_messages = 5;
    extent.idle = std::chrono::milliseconds(500);
    extent.steady = std::chrono::milliseconds(500);
    extent.pairs = 1;
    extent.batch.messages = 100;
    return extent;
}

std::vector<RowResult> measure(const Setup& setup, const std::vector<std::string>& rows) {
    Bench bench(setup);
    std::vector<RowResult> results;
    const auto against_off = chosen(rows, {"1", "2", "3"});
    measure_rows(
        setup, against_off, [&] { return bench.against_dedup_off(against_off); }, results);
    const std::vector<std::pair<std::string, RowResult (Bench::*)()>> others{
        {"4", &Bench::debezium},      {"4b", &Bench::spring},
        {"4c", &Bench::spring_inbox}, {"5", &Bench::kcat},
        {"6", &Bench::isolation},     {"8", &Bench::replay_storm},
        {"10", &Bench::single},       {"11", &Bench::workers},
        {"11b", &Bench::duplicates},  {"15", &Bench::latency},
        {"16", &Bench::idle},         {"17", &Bench::traced},
        {"18", &Bench::avro},         {"19", &Bench::under_load},
        {"21", &Bench::stores},       {"22", &Bench::partitions},
        {"23", &Bench::topics},       {"9", &Bench::purge},
        {"25", &Bench::merging},
    };
    for (const auto& [row, function] : others) {
        if (std::ranges::find(rows, row) == rows.end()) continue;
        const auto measured = [&bench, function = function] {
            return std::vector<RowResult>{(bench.*function)()};
        };
        measure_rows(setup, {row}, measured, results);
    }
    const auto loaded = chosen(rows, {"7", "12", "13", "14"});
    measure_rows(
        setup, loaded, [&] { return bench.loaded(loaded); }, results);
    std::ranges::stable_sort(results, {}, [](const RowResult& result) {
        return std::ranges::find(targets(), result.row, &Target::row) - targets().begin();
    });
    return results;
}

}  // namespace onceward::bench
