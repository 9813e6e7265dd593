#pragma once
// A migrated schema with the sink's table, made in one round trip and dropped by the destructor.
// Used by one thread.

#include <cstdint>
#include <memory>
#include <string>

#include "dedup/postgres/connection.h"
#include "tests/support/postgres.h"

namespace onceward::campaign::core {

class SeedSchema {
  public:
    SeedSchema(support::PostgresAddress server, std::uint64_t seed);
    ~SeedSchema();
    SeedSchema(const SeedSchema&) = delete;
    SeedSchema& operator=(const SeedSchema&) = delete;

    const std::string& name() const { return name_; }
    std::string effects() const { return name_ + ".effects"; }
    const support::PostgresAddress& server() const { return server_; }
    // What a worker connects with; through a proxy where a port is given.
    ConnectionOptions worker(std::uint16_t port = 0) const;
    // The superuser, with this schema as its search_path.
    std::unique_ptr<support::Database> open() const;
    // The schema is elsewhere now, or is not worth dropping.
    void moved(support::PostgresAddress server) { server_ = std::move(server); }
    void leave() { leave_ = true; }

  private:
    support::PostgresAddress server_;
    std::string name_;
    bool leave_ = false;
};

}  // namespace onceward::campaign::core
