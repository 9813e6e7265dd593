#include "lab/bench/loaded_ledger.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "dedup/claims/log/log_store.h"
#include "dedup/ledger/ledger.h"
#include "dedup/postgres/binary.h"
#include "dedup/retention/retention.h"
#include "lab/bench/consumption.h"
#include "lab/queries.h"
#include "schemas/queries.h"

namespace onceward::bench {
namespace {

constexpr std::int64_t batch_claims = 5'000;
constexpr std::int64_t deleted_at_once = 10'000;
constexpr int most_looks = 1'000;
constexpr std::size_t no_merge = 1'000'000;
constexpr std::int64_t copy_claims = 1'000'000;  // in one COPY, so that none takes long

using Clock = std::chrono::steady_clock;

// For statements that take long.
ConnectionOptions patient(ConnectionOptions options) {
    options.statement_timeout = std::chrono::hours(1);
    return options;
}

LedgerOptions options() {
    LedgerOptions options;
    options.name = ledger_name;
    options.store = StoreKind::log;
    return options;
}

// An array of one number.
std::string array_of(std::uint32_t type, std::string_view element) {
    std::string array;
    for (const std::uint32_t part : {1U, 0U, type, 1U, 1U}) binary::put32(array, part);
    binary::put_field(array, element);
    return array;
}

std::string number4(std::uint32_t value) {
    std::string bytes;
    binary::put32(bytes, value);
    return bytes;
}

std::string number8(std::uint64_t value) {
    std::string bytes;
    binary::put64(bytes, value);
    return bytes;
}

std::string random_digests(std::mt19937_64& random, std::int64_t count) {
    std::vector<std::array<std::uint64_t, 2>> digests(static_cast<std::size_t>(count));
    for (auto& digest : digests) digest = {random(), random()};
    std::ranges::sort(digests);
    std::string bytes;
    bytes.reserve(digests.size() * 16);
    for (const auto& [high, low] : digests) {
        binary::put64(bytes, high);
        binary::put64(bytes, low);
    }
    return bytes;
}

}  // namespace

LoadedLedger::LoadedLedger(Tables& tables, std::int64_t claims, std::int64_t each)
    : tables_(tables), claims_(claims) {
    Connection connection(patient(tables.options()));
    const RegisteredLedger registered =
        register_ledger(connection, options(), "onceward-bench", "loaded");
    ledger_ = registered.ledger;
    source_ = registered.source;
    std::mt19937_64 random(20261121);
    const std::string ledger = std::to_string(ledger_);
    std::int64_t in_generation = 0;
    for (std::int64_t loaded = 0; loaded < claims;) {
        std::string rows(binary::copy_header);
        const std::int64_t end =
            std::min(loaded + std::min(copy_claims, each > 0 ? each : copy_claims), claims);
        in_generation += end - loaded;
        while (loaded < end) {
            const std::int64_t count = std::min(batch_claims, end - loaded);
            binary::put16(rows, 5);
            binary::put_field(rows, number4(static_cast<std::uint32_t>(source_)));
            binary::put_field(rows, array_of(binary::int4_type, number4(0)));
            const auto first = static_cast<std::uint64_t>(loaded);
            const auto last = static_cast<std::uint64_t>(loaded + count - 1);
            binary::put_field(rows, array_of(binary::int8_type, number8(first)));
            binary::put_field(rows, array_of(binary::int8_type, number8(last)));
            binary::put_field(rows, random_digests(random, count));
            loaded += count;
        }
        rows.append(binary::copy_trailer);
        const std::string generation = std::to_string(current_);
        connection.copy_begin(lab_sql::bench_load_claims,
                              {{"ledger", ledger}, {"generation", generation}});
        connection.copy_send(rows);
        connection.copy_end();
        // Each is three fifths of what is left: segments that are larger than all newer ones
        // together, as merging leaves them.
        const std::int64_t rest = claims - loaded;
        const bool full =
            each > 0 ? in_generation >= each : in_generation * 2 >= (in_generation + rest) / 5 * 6;
        if (rest > 0 && !full) continue;
        current_ =
            connection.query(sql::retention_rotate, Parameters{}.integer(ledger_).integer(current_))
                .integer(0, 0);
        in_generation = 0;
    }
    RetentionJob job({.connection = connection.options(),
                      .ledgers = {options()},
                      // One generation of hundreds of millions is read a few times, not dozens.
                      .sealing = {.shard_claims = std::max(claims / 16, std::int64_t{1'000'000})},
                      .merge = each > 0 ? MergeRule{.fewest = no_merge} : MergeRule{}});
    // Each call seals one generation, and merges what is due. If autovacuum does not give way in
    // time, a log stays for the next call.
    std::int64_t sealed = 1;
    for (int looks = 0; looks < most_looks; ++looks) {
        const RetentionReport report = job.look(connection, options());
        if (report.sealed) ++sealed;
        if (sealed >= current_ && !report.busy) break;
    }
    // Autovacuum comes within a minute, and a DROP waits until it has given way: generations that
    // are a day old have been vacuumed already.
    const QueryResult endings = connection.query(lab_sql::bench_segments, {ledger_});
    for (int row = 0; row < endings.rows(); ++row) {
        connection.query(lab_sql::bench_vacuum_claims, {},
                         {{"ledger", ledger}, {"generation", std::string(endings.text(row, 0))}});
    }
}

double LoadedLedger::disk_bytes_a_claim() const {
    const std::string current =
        "claims_" + std::to_string(ledger_) + "_" + std::to_string(current_);
    const QueryResult sizes = tables_.connection().query(
        lab_sql::bench_ledger_bytes, Parameters{}.text(std::to_string(ledger_)).text(current));
    if (sizes.integer(0, 1) > 0) throw std::runtime_error("the ledger's log was not sealed");
    return static_cast<double>(sizes.integer(0, 0)) / static_cast<double>(claims_);
}

double LoadedLedger::memory_bytes_a_claim() const {
    Connection connection(tables_.options());
    LogStore store(ledger_, source_, std::make_shared<LogWindows>());
    // A worker reads the filters between its batches.
    store.catch_up(connection);
    for (int i = 0; i < most_looks && store.window()->missing_filter(); ++i) {
        store.catch_up(connection);
    }
    return static_cast<double>(store.window()->bytes()) / static_cast<double>(claims_);
}

double LoadedLedger::purge() const {
    Connection connection(patient(tables_.options()));
    RetentionJob job({.connection = connection.options(), .ledgers = {options()}});
    const auto begin = Clock::now();
    int left = connection.execute(lab_sql::bench_unlist).rows();
    for (int looks = 0; left > 0; ++looks) {
        if (looks == most_looks) throw std::runtime_error("the claims' tables were not dropped");
        left -= job.look(connection, options()).dropped;
    }
    return seconds_since(begin);
}

double LoadedLedger::merge() const {
    Connection connection(patient(tables_.options()));
    RetentionJob job({.connection = connection.options(), .ledgers = {options()}});
    const auto begin = Clock::now();
    int merges = 0;
    while (job.look(connection, options()).merged) ++merges;
    if (merges == 0) throw std::runtime_error("nothing was merged");
    return seconds_since(begin);
}

std::int64_t LoadedLedger::segment_reads() const {
    return tables_.connection()
        .query(lab_sql::bench_segment_reads, Parameters{}.text(std::to_string(ledger_)))
        .integer(0, 0);
}

void LoadedLedger::forget_new_claims() const {
    tables_.connection().query(
        lab_sql::bench_forget_claims, {},
        {{"ledger", std::to_string(ledger_)}, {"generation", std::to_string(current_)}});
}

std::int64_t LoadedLedger::dead_rows() const {
    const std::string ledger = std::to_string(ledger_);
    const std::string generation = std::to_string(current_);
    std::int64_t dead = 0;
    const auto all_counted = [&] {
        const QueryResult rows =
            tables_.connection().query(lab_sql::bench_dead_rows, Parameters{}.text(ledger),
                                       {{"ledger", ledger}, {"generation", generation}});
        dead = rows.integer(0, 0);
        return rows.boolean(0, 1);
    };
    wait_until(all_counted, "for the server to count the rows");
    return dead;
}

double delete_in_batches(const Tables& tables, std::int64_t claims) {
    Connection connection(patient(tables.options()));
    LedgerOptions plain;
    plain.name = "onceward-bench-deleted";
    const RegisteredLedger registered =
        register_ledger(connection, plain, "onceward-bench", "deleted");
    const std::string ledger = std::to_string(registered.ledger);
    const Connection::Names names{{"ledger", ledger}, {"generation", "1"}};
    connection.query(lab_sql::bench_fill_claims,
                     Parameters{}.integer(registered.source).integer(claims), names);
    const std::int64_t pages =
        connection.query(lab_sql::bench_claim_pages, {}, names).integer(0, 0);
    const std::int64_t step = std::max<std::int64_t>(pages * deleted_at_once / claims, 1);
    connection.execute(lab_sql::bench_checkpoint);
    std::int64_t deleted = 0;
    const auto begin = Clock::now();
    for (std::int64_t page = 0; page < pages; page += step) {
        deleted += connection
                       .prepared(lab_sql::bench_delete_claims,
                                 Parameters{}.integer(page).integer(page + step), names)
                       .affected();
    }
    const double seconds = seconds_since(begin);
    if (deleted != claims) throw std::runtime_error("the batched DELETE left claims");
    return seconds;
}

}  // namespace onceward::bench
