#pragma once
// What the demo runs on: a mock Kafka in this process, a private PostgreSQL, their topics and
// tables, and a configuration for the workers, all in one temporary folder that goes with the
// object. Used by the thread that made it, which must live as long as the database shall. Failures
// are std::runtime_errors.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "dedup/postgres/connection.h"
#include "lab/embedded/private_postgres.h"
#include "lab/kafka/mock_cluster.h"

namespace onceward::demo {

class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

class Stage {
  public:
    // The mock cluster removes a member that sent no heartbeat for this long.
    static constexpr std::chrono::milliseconds session_timeout{1'600};

    // `program`: `onceward`, which also migrates the schema.
    explicit Stage(const std::filesystem::path& program);

    const std::filesystem::path& folder() const { return folder_.path(); }
    std::filesystem::path configuration() const { return folder() / "onceward.yaml"; }
    std::filesystem::path proto_file() const { return folder() / "payment.proto"; }
    std::string bootstrap_servers() const { return cluster_.bootstrap_servers(); }
    std::string dsn() const { return postgres_.dsn(); }
    ConnectionOptions connection() const;

  private:
    void write_files() const;
    TemporaryFolder folder_;
    MockCluster cluster_;
    PrivatePostgres postgres_;
};

}  // namespace onceward::demo
