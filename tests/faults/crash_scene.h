#pragma once
// What the crash tests run on: a topic of the real broker, a table, worker processes of the release
// program, and the messages that were sent. Used by the test's thread, with which the workers end.

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lab/embedded/child_process.h"
#include "tests/faults/checker/checks.h"
#include "tests/support/kafka.h"
#include "tests/support/postgres.h"

namespace onceward::faults {

// How long these tests wait for what must come.
constexpr std::chrono::milliseconds patience{60'000};

struct SceneOptions {
    std::string bootstrap_servers;         // default: the shared broker's, without TLS
    support::Properties kafka_properties;  // over ours
    std::string dsn_more;                  // after the least-privilege role's dsn: the last wins
    bool create_topic = true;
    std::string drain_timeout = "1s";
    // Longer than what a test blocks on purpose.
    std::string lock_timeout = "1s";
    std::string kafka_more{};  // lines of the configuration's `kafka`
    std::string more{};        // lines of the configuration
    std::string topic_more{};  // and of its topic
};

// Violations and problems, one line each.
std::vector<std::string> complaints(const checker::Verdict& verdict);

class CrashScene {
  public:
    static constexpr int partitions = 6;

    explicit CrashScene(std::uint64_t seed, SceneOptions options = {});
    ~CrashScene();
    CrashScene(const CrashScene&) = delete;
    CrashScene& operator=(const CrashScene&) = delete;

    // Sends that many messages, acknowledged; a quarter carries the key of an earlier one.
    void send(int messages);
    int sent() const { return static_cast<int>(sent_.size()); }

    // A worker of the program itself, or of the faulty one where a fault is given, such as
    // `ONCEWARD_KILL_AT=after_sink:2`. `environment`: more of such entries.
    ChildProcess start_worker(const std::optional<std::string>& fault = {},
                              std::vector<std::string> environment = {});
    // SIGTERM; fails the test unless it leaves with 0.
    void stop_worker(ChildProcess& worker);

    // Whether the fences have reached the end of all that was sent in that time.
    bool drained(std::chrono::milliseconds limit);
    std::int64_t rows() { return schema_.database().number("SELECT count(*) FROM payments"); }
    // The scene and the list of what was sent, for the checker's program.
    std::filesystem::path write_checker_scene();
    // What the independent checker says of all that was sent.
    checker::Verdict verdict();
    support::Database& database() { return schema_.database(); }
    const std::string& topic() const { return topic_; }
    const std::string& schema() const { return schema_.name(); }
    const support::PostgresAddress& server() const { return schema_.server(); }
    std::mt19937_64& random() { return random_; }
    // The end of the last worker's log, for a failure's message.
    std::string last_log() const;
    // Whether the last worker's log comes to hold this text in that time.
    bool logged(const std::string& text, std::chrono::milliseconds limit) const;
    // Whether the log of any worker holds it now.
    bool logged_by_any(const std::string& text) const;

  private:
    void write_configuration();
    std::filesystem::path last_log_file() const;
    SceneOptions options_;
    std::filesystem::path folder_;
    support::FreshSchema schema_;
    std::string topic_;
    std::string group_;
    std::mt19937_64 random_;
    std::vector<checker::ProducedMessage> sent_;
    std::vector<std::string> keys_;
    std::vector<std::int64_t> ends_ = std::vector<std::int64_t>(partitions);
    int workers_started_ = 0;
    std::map<pid_t, std::filesystem::path> logs_;
};

}  // namespace onceward::faults
