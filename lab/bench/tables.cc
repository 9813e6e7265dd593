#include "lab/bench/tables.h"

#include <exception>
#include <stdexcept>

#include "dedup/message/digest.h"
#include "dedup/server/migration.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

ConnectionOptions in_schema(ConnectionOptions options, std::string schema) {
    options.schema = std::move(schema);
    return options;
}

}  // namespace

Tables::Tables(ConnectionOptions postgres, std::string schema)
    : connection_(in_schema(std::move(postgres), std::move(schema))) {
    connection_.execute(lab_sql::bench_drop_schema);
    migrate_up(connection_);
    begin_anew();
    make(lab_sql::bench_keyed_table, keyed_table);
    connection_.execute(lab_sql::bench_peer_tables);
}

void Tables::begin_anew() {
    id_ = new_uuid().substr(0, 8);
    make(lab_sql::bench_table, plain_table);
}

Tables::~Tables() {
    try {
        for (const char* table :
             {plain_table, keyed_table, upserted_table, raw_table, claims_table}) {
            make(lab_sql::bench_drop, table);
        }
        for (const std::string& table : added_) make(lab_sql::bench_drop, table.c_str());
        connection_.execute(lab_sql::bench_drop_schema);
    } catch (const std::exception&) {
        // The measurement is valid; the next run drops it or says what is wrong.
    }
}

void Tables::add(std::string table) {
    make(lab_sql::bench_table, table.c_str());
    added_.push_back(std::move(table));
}

void Tables::make(std::string_view statements, const char* table) {
    std::string text(statements);
    for (std::size_t at; (at = text.find("{table}")) != std::string::npos;) {
        text.replace(at, std::string_view("{table}").size(), table);
    }
    connection_.execute(text);
}

std::int64_t Tables::wal() { return connection_.query(lab_sql::bench_wal, {}).integer(0, 0); }

void Tables::checkpoint() { connection_.execute(lab_sql::bench_checkpoint); }

std::int64_t Tables::arrived(const char* table) {
    return connection_.query(lab_sql::bench_arrived, {}, {{"table", table}}).integer(0, 0);
}

void Tables::expect_rows(const char* table, std::int64_t expected, const char* key) {
    const QueryResult rows =
        connection_.query(lab_sql::bench_rows, {}, {{"table", table}, {"key", key}});
    if (rows.integer(0, 0) == expected && rows.integer(0, 1) == expected) return;
    throw std::runtime_error("the bench's table holds " + std::string(rows.text(0, 0)) +
                             " rows of " + std::string(rows.text(0, 1)) + " keys, " +
                             std::to_string(expected) + " were to be there");
}

}  // namespace onceward::bench
