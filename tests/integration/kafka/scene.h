#pragma once
// A topic of the shared broker, a schema with a table, and workers between them: what the tests of
// the worker stand on. The check at the end reads the produced list, PostgreSQL and Kafka, never
// the product's memory. Used by the test's thread. Workers stop with the scene.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/worker.h"
#include "tests/support/kafka.h"
#include "tests/support/postgres.h"

namespace onceward::kafka_tests {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// How long to wait for what must come. Only a test that fails waits so long.
inline constexpr milliseconds patience{60'000};

struct SceneOptions {
    int partitions = 1;
    support::Properties topic_config{};
    support::Kafka* kafka = nullptr;      // the shared broker
    std::string bootstrap_servers{};      // of that broker
    support::PostgresAddress postgres{};  // the shared server
};

class Scene {
  public:
    explicit Scene(SceneOptions options = {});
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;
    ~Scene();

    const std::string& topic() const { return topic_; }
    const std::string& group() const { return group_; }
    support::FreshSchema& schema() { return schema_; }
    support::Database& database() { return session_ ? *session_ : schema_.database(); }
    // After a restart of the server.
    void reconnect();
    support::Kafka& kafka() { return kafka_; }

    // Options of a worker with short time-outs: it is thrown out of the group after two seconds of
    // silence.
    WorkerOptions options();
    WorkerTopic worker_topic(const std::string& topic, const std::string& table = "effects");
    std::string add_table(const std::string& table);
    // Adds one more topic, with the table `others`, to the worker's. Returns its name.
    std::string add_other_topic(WorkerOptions& options);
    Worker& start(WorkerOptions options);
    Worker& start() { return start(options()); }
    void stop(Worker& worker);
    void stop_all();

    // New keys, over the partitions in turn; the messages count as sent.
    void send(int messages, int first_partition = 0);
    std::vector<support::ProducedMessage> make(int messages, int partition);
    // What make() made, or a repeat, was sent and is to be applied.
    void count(const std::vector<support::ProducedMessage>& messages);

    std::int64_t applied() { return database().number("SELECT count(*) FROM effects"); }
    bool all_applied(milliseconds limit = patience);
    std::string fence(int partition, const std::string& columns);
    std::int64_t next_offset(int partition) { return std::stoll(fence(partition, "next_offset")); }
    // Waits until a partition of the worker is halted; the reason.
    static std::string halted(Worker& worker, milliseconds limit = patience);
    // Nothing missing, nothing twice, in offset order, and the fences' totals agree (I1, I15, I16).
    void expect_exact();
    // Waits for everything that was sent, then expects the above.
    void expect_all_once();

  private:
    SceneOptions options_;
    support::FreshSchema schema_;
    support::Kafka& kafka_;
    std::string bootstrap_servers_;
    std::string topic_;
    std::string group_;
    std::optional<support::Database> session_;
    int partitions_;
    int next_key_ = 0;
    int next_worker_ = 0;
    std::map<std::string, int> sent_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

// What this process wrote to standard error from here on; given back to it by the destructor.
class CapturedLog {
  public:
    CapturedLog();
    ~CapturedLog();
    std::string text() const;
    bool says(const std::string& part, milliseconds limit = patience) const;

  private:
    std::string file_;
    int before_ = -1;
};

// How often the text has that part.
int times_in(const std::string& text, const std::string& part);

// Whether nothing changes for that long; for claims that something does not happen.
bool stays(milliseconds duration, const std::function<bool()>& holds);

}  // namespace onceward::kafka_tests
