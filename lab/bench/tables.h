#pragma once
// The schema and the tables that a run writes to: created with the object, dropped with it. Used by
// one thread; failures are PostgresErrors, and std::runtime_error if the rows do not add up.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/postgres/connection.h"

namespace onceward::bench {

// Five columns, no index.
inline constexpr const char* plain_table = "onceward_bench_events";
// The same columns; `amount_minor` is the primary key.
inline constexpr const char* keyed_table = "onceward_bench_keyed";
// For what stays while other runs come and go.
inline constexpr const char* loaded_schema = "onceward_bench_loaded";
// For peers: the plain table's columns, the key is the primary key; a key, partition, offset and
// payload, no index; and a column of claims, which is the primary key.
inline constexpr const char* upserted_table = "onceward_bench_upserted";
inline constexpr const char* raw_table = "onceward_bench_raw";
inline constexpr const char* claims_table = "onceward_bench_claims";

class Tables {
  public:
    // `postgres` may create tables; its schema is replaced by this one. Two that live at once need
    // two, as each begins by dropping its own.
    explicit Tables(ConnectionOptions postgres, std::string schema = "onceward_bench");
    ~Tables();
    Tables(const Tables&) = delete;
    Tables& operator=(const Tables&) = delete;

    // Names the consumer group and the keys' operation: no run finds the offsets of another one,
    // whose fences may be gone, or its claims.
    const std::string& id() const { return id_; }
    // The options of the sessions that write here.
    const ConnectionOptions& options() const { return connection_.options(); }
    Connection& connection() { return connection_; }
    // Bytes of WAL ever written.
    std::int64_t wal();
    // Another id, an empty plain table; the ledgers stay.
    void begin_anew();
    // One more, as the plain table, until the object is gone.
    void add(std::string table);
    // So that no run pays for the pages that the one before it left.
    void checkpoint();
    // Throws unless the table holds exactly so many rows, each with a key of its own.
    void expect_rows(const char* table, std::int64_t expected, const char* key = "event_id");
    // Rows that can be seen, and those that a COPY under way has taken.
    std::int64_t arrived(const char* table);

  private:
    void make(std::string_view statements, const char* table);
    std::string id_;
    std::vector<std::string> added_;
    Connection connection_;
};

}  // namespace onceward::bench
