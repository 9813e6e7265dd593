#pragma once
// What the workers of one seed share: the schema, the board, the count of what was really injected,
// and a superuser's hand in the database. Thread-safe but for what is said.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dedup/claims/log/log_window.h"
#include "dedup/fence/fence.h"
#include "dedup/server/frozen_session_guard.h"
#include "tests/faults/campaign/core/board.h"
#include "tests/faults/campaign/core/seed_schema.h"
#include "tests/faults/campaign/core/workload.h"

namespace onceward::campaign::core {

inline constexpr const char* consumer_group = "group";
inline constexpr const char* topic_name = "topic";
inline constexpr const char* ledger_name = "ledger";

class Scene {
  public:
    Scene(const Plan& plan, SeedSchema& schema);

    const Plan& plan;
    Workload workload;
    Board board;
    // The windows of the process that the workers share, if they share one; else they have the same
    // limit. In every third seed no filter has room, so that each segment is asked for each key.
    std::shared_ptr<LogWindows> log_windows =
        std::make_shared<LogWindows>(plan.seed % 3 == 0 ? 0 : LogWindows::default_limit);
    std::optional<FrozenSessionGuard>
        guard;  // where some worker freezes; set before the workers begin

    // A fault took effect.
    void count(FaultKind kind);
    void count(const std::string& kind);
    std::map<std::string, std::int64_t> faults() const;
    void violated(const std::string& text);
    std::vector<std::string> violations() const;

    // A worker begins its next transaction; how many there were.
    std::int64_t attempt();
    std::int64_t attempts() const;

    // What a worker tells Kafka after a COMMIT. Where asked to look, the fence must be there (I2).
    void offset_committed(const FenceMove& move, bool look);
    std::map<int, std::int64_t> committed_offsets() const;

    // By the superuser, each in one statement; false where the server did not do it.
    bool terminate(int pid);
    bool steal(int partition);
    // Locks the sink's table until unlock_sink() or the end.
    bool lock_sink();
    void unlock_sink();
    std::chrono::milliseconds lock_timeout() const;

    ConnectionOptions worker_options(std::uint16_t port) const;
    void log(const std::string& line);
    std::string log_text() const;

  private:
    // The statement's rows, or none if the server is away: the session is made again next time.
    std::optional<support::Rows> ask(const std::string& sql);
    SeedSchema& schema_;
    std::mutex database_mutex_;
    std::unique_ptr<support::Database> database_;
    std::unique_ptr<support::Database> blocker_;
    mutable std::mutex mutex_;
    std::map<std::string, std::int64_t> faults_;
    std::vector<std::string> violations_;
    std::map<int, std::int64_t> committed_;
    std::int64_t attempts_ = 0;
    std::string log_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace onceward::campaign::core
