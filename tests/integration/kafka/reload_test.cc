// `onceward run` while its configuration's file changes: topics come and go and policies change
// under load, by SIGHUP and at the admin port, and nothing is lost or applied twice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/admin/admin_server.h"
#include "dedup/base/backoff.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/notify_socket.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using support::ProducedMessage;
using testing::HasSubstr;
using testing::Not;

constexpr int partitions = 2;
constexpr const char* token = "0123456789abcdef-operate";

// Sends new keys, and each of them once more into the other partition, until it ends.
class Load {
  public:
    explicit Load(std::string topic) : topic_(std::move(topic)) {}
    ~Load() { stop(); }
    void stop() {
        if (thread_.joinable()) {
            thread_.request_stop();
            thread_.join();
        }
    }
    int keys() const { return keys_; }

  private:
    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::vector<ProducedMessage> messages;
            for (int i = 0; i < 20; ++i) {
                for (const int partition : {0, 1}) messages.push_back(message(keys_, partition));
                ++keys_;
            }
            support::kafka().produce(topic_, messages);
            sleep_unless(stop, 20ms);  // on a busy machine the workers could not keep up
        }
    }
    ProducedMessage message(int key, int partition) const {
        return {.partition = partition,
                .key = {},
                .payload = "{}",
                .headers = {{"id", topic_ + "-" + std::to_string(key)}}};
    }
    std::string topic_;
    std::atomic<int> keys_ = 0;
    std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

class ReloadedProcess : public testing::Test {
  protected:
    ReloadedProcess() {
        for (const std::string& topic : {orders_, gifts_}) {
            support::kafka().create_topic(topic, partitions);
        }
        effects_ = schema_.user_table("effects", "id text, topic text");
    }
    ~ReloadedProcess() override {
        std::filesystem::remove(file_);
        std::filesystem::remove(log_);
    }

    std::string topic(const std::string& name, const std::string& more = "") const {
        return "  - name: " + name + "\n    start: earliest\n    key: {sources: [{header: id}]}\n" +
               "    sink: {table: " + effects_ +
               ", columns: {id: {header: id}, topic: {metadata: topic}}}\n" + more;
    }
    void configure(const std::string& topics, const std::string& more = "workers: 2\n") const {
        std::ofstream(file_) << "group: " << group_ << "\nkafka: {bootstrap_servers: '"
                             << support::kafka_bootstrap_servers()
                             << "', properties: {session.timeout.ms: 2000, "
                                "heartbeat.interval.ms: 200}}\npostgres: {dsn: '"
                             << schema_.server().worker_dsn << "', operator_dsn: '"
                             << schema_.server().dsn << "', schema: " << schema_.name()
                             << "}\nadmin:\n  listen: '127.0.0.1:" << port_.number()
                             << "'\n  operate: {tokens: {alice: " << token << "}}\n"
                             << more << "topics:\n"
                             << topics;
    }
    ChildProcess run(std::vector<std::string> environment = {}) const {
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "run", "-c", file_.string()};
        options.output = log_;
        options.environment = std::move(environment);
        return ChildProcess(options);
    }
    std::string log() const {
        std::ostringstream text;
        text << std::ifstream(log_).rdbuf();
        return text.str();
    }
    int lines(const std::string& part) const { return times_in(log(), part); }
    // By SIGHUP. Waits for its end.
    void reload(ChildProcess& process, const std::string& event = "configuration.reloaded") const {
        const int before = lines(event);
        process.send(SIGHUP);
        EXPECT_TRUE(eventually(patience, [&] { return lines(event) > before; })) << tail_of(log_);
    }
    httplib::Result post(const std::string& path, const std::string& body) const {
        httplib::Client client("127.0.0.1", port_.number());
        client.set_read_timeout(60);
        return client.Post("/api/" + path,
                           {{act_header, "1"}, {"Authorization", std::string("Bearer ") + token}},
                           body, "application/json");
    }
    std::string metrics() const {
        return ask_admin_port({"127.0.0.1", port_.number()}, "/metrics", 10s).body;
    }

    std::int64_t applied(const std::string& topic) {
        return schema_.database().number("SELECT count(*) FROM effects WHERE topic = '" + topic +
                                         "'");
    }
    bool applies(const std::string& topic, std::int64_t count) {
        return eventually(patience, [&] { return applied(topic) >= count; });
    }
    std::int64_t passed(const std::string& topic) {
        return schema_.database().number(
            "SELECT coalesce(sum(next_offset), 0) FROM fences WHERE topic = '" + topic + "'");
    }
    bool passes_all(const std::string& topic) {
        std::int64_t end = 0;
        for (int i = 0; i < partitions; ++i) end += support::kafka().offsets(topic, i).second;
        return eventually(patience, [&] { return passed(topic) == end; });
    }
    // No key that was sent is missing, and none is there twice.
    void expect_once(const std::string& topic, int keys) {
        EXPECT_TRUE(passes_all(topic)) << tail_of(log_);
        EXPECT_EQ(applied(topic), keys) << "lost: below; twice: above";
        EXPECT_EQ(schema_.database().number(
                      "SELECT count(DISTINCT id) FROM effects WHERE topic = '" + topic + "'"),
                  keys);
    }
    void stop(ChildProcess& process) const {
        process.send(SIGTERM);
        const auto status = process.wait(60s);
        EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << tail_of(log_);
    }

    support::FreshSchema schema_;
    std::string effects_;
    std::string group_ = support::unique_name("group");
    std::string orders_ = support::unique_name("orders");
    std::string gifts_ = support::unique_name("gifts");
    ReservedPort port_;
    std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / (support::unique_name("config") + ".yaml");
    std::filesystem::path log_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("log");
};

TEST_F(ReloadedProcess, TopicsComeAndGoUnderLoadAndEachKeyIsAppliedOnce) {
    configure(topic(orders_));
    const support::NotifySocket manager;
    ChildProcess process = run({"NOTIFY_SOCKET=" + manager.path()});
    Load orders(orders_);
    Load gifts(gifts_);
    ASSERT_TRUE(applies(orders_, 100)) << tail_of(log_);
    EXPECT_EQ(applied(gifts_), 0);

    configure(topic(orders_) + topic(gifts_));
    reload(process);
    EXPECT_TRUE(manager.receives("RELOADING=1", patience));
    EXPECT_TRUE(manager.receives("READY=1", patience));
    // Nobody reads from here on, which holds up neither the reloads nor the end.
    manager.fill();
    ASSERT_TRUE(applies(gifts_, 200)) << tail_of(log_);
    ASSERT_TRUE(applies(orders_, applied(orders_) + 200)) << tail_of(log_);

    configure(topic(orders_));
    reload(process);
    const std::int64_t left_at = passed(gifts_);
    ASSERT_TRUE(applies(orders_, applied(orders_) + 200)) << tail_of(log_);
    EXPECT_EQ(passed(gifts_), left_at) << "nobody reads it any more";

    configure(topic(gifts_) + topic(orders_));
    reload(process);
    ASSERT_TRUE(applies(gifts_, applied(gifts_) + 200)) << tail_of(log_);
    orders.stop();
    gifts.stop();
    expect_once(orders_, orders.keys());
    expect_once(gifts_, gifts.keys());
    EXPECT_THAT(metrics(), HasSubstr("onceward_reloads_total{result=\"applied\"} 3"));
    stop(process);
}

TEST_F(ReloadedProcess, APolicyHoldsFromTheReloadOn) {
    configure(topic(orders_));
    ChildProcess process = run();
    const ProducedMessage keyless{.partition = 0, .key = {}, .payload = "{}", .headers = {}};
    support::kafka().produce(orders_, {keyless});
    ASSERT_TRUE(passes_all(orders_)) << tail_of(log_);
    const std::string letters = "SELECT count(*) FROM dead_letters";
    EXPECT_EQ(schema_.database().number(letters), 1);

    const std::string file = topic(orders_);
    const std::string key = "key: {sources: [{header: id}]";
    configure(std::string(file).replace(file.find(key), key.size(), key + ", on_missing: skip"));
    reload(process);
    EXPECT_THAT(log(), HasSubstr("left nowhere, only counted"));
    support::kafka().produce(orders_, {keyless, keyless});
    ASSERT_TRUE(passes_all(orders_)) << tail_of(log_);
    EXPECT_EQ(schema_.database().number(letters), 1);
    EXPECT_EQ(schema_.database().number("SELECT sum(skipped) FROM fences"), 2);
    stop(process);
}

TEST_F(ReloadedProcess, WhatNeedsARestartOrIsBrokenIsRefusedAsAWhole) {
    configure(topic(orders_));
    ChildProcess process = run();
    Load orders(orders_);
    ASSERT_TRUE(applies(orders_, 100)) << tail_of(log_);

    // A topic more would be taken; another number of workers is not, so neither is.
    configure(topic(orders_) + topic(gifts_), "workers: 3\n");
    reload(process, "configuration.reload_refused");
    EXPECT_THAT(log(), HasSubstr("restart: workers: "));
    const std::string good = topic(orders_) + topic(gifts_);
    std::ofstream(file_) << "group: [\n";
    reload(process, "configuration.reload_refused");
    EXPECT_TRUE(process.running());
    EXPECT_EQ(lines("worker=2"), 0);
    ASSERT_TRUE(applies(orders_, applied(orders_) + 200)) << tail_of(log_);
    EXPECT_THAT(metrics(), HasSubstr("onceward_reloads_total{result=\"refused\"} 2"));
    EXPECT_THAT(metrics(), Not(HasSubstr("onceward_reload_last_success_timestamp_seconds")));

    configure(good);
    reload(process);
    EXPECT_THAT(metrics(), HasSubstr("onceward_reload_last_success_timestamp_seconds"));
    orders.stop();
    expect_once(orders_, orders.keys());
    stop(process);
}

TEST_F(ReloadedProcess, APausedTopicStaysPaused) {
    configure(topic(orders_));
    ChildProcess process = run();
    {
        Load before(orders_);
        ASSERT_TRUE(applies(orders_, 100)) << tail_of(log_);
        before.stop();
        expect_once(orders_, before.keys());
    }
    ASSERT_EQ(post("pause", R"({"topic": ")" + orders_ + R"(", "reason": "index"})")->status, 200);
    // Each worker reads of it by itself.
    const std::string both = "onceward_partitions_paused{topic=\"" + orders_ + "\"} 2";
    ASSERT_TRUE(eventually(patience, [&] { return metrics().find(both) != std::string::npos; }))
        << tail_of(log_);
    const std::int64_t paused_at = passed(orders_);
    support::kafka().produce(
        orders_,
        {{.partition = 0, .key = {}, .payload = "{}", .headers = {{"id", "after the pause"}}}});
    configure(topic(orders_) + topic(gifts_));
    reload(process);
    Load gifts(gifts_);
    ASSERT_TRUE(applies(gifts_, 200)) << tail_of(log_);
    EXPECT_EQ(passed(orders_), paused_at);
    ASSERT_EQ(post("resume", R"({"topic": ")" + orders_ + R"("})")->status, 200);
    EXPECT_TRUE(passes_all(orders_)) << tail_of(log_);
    gifts.stop();
    expect_once(gifts_, gifts.keys());
    stop(process);
}

TEST_F(ReloadedProcess, TwoAtOnceUnderLoadAreOneAfterTheOther) {
    configure(topic(orders_));
    ChildProcess process = run();
    Load orders(orders_);
    Load gifts(gifts_);
    ASSERT_TRUE(applies(orders_, 100)) << tail_of(log_);
    for (int round = 0; round < 2; ++round) {
        configure(topic(orders_) + topic(gifts_));
        const auto first = std::async([&] { return post("reload", R"({"reason": "more"})"); });
        const auto second = std::async([&] { return post("reload", "{}"); });
        process.send(SIGHUP);
        for (const auto* one : {&first, &second}) one->wait();
        ASSERT_TRUE(applies(gifts_, applied(gifts_) + 100)) << tail_of(log_);
        configure(topic(orders_));
        ASSERT_EQ(post("reload", R"({"reason": "less"})")->status, 200) << tail_of(log_);
    }
    // One that asks for the topic that is there now changes nothing.
    const auto unchanged = post("reload", "{}");
    EXPECT_EQ(nlohmann::json::parse(unchanged->body)["result"], "unchanged");
    configure(topic(orders_), "workers: 5\n");
    const auto refused = post("reload", "{}");
    EXPECT_EQ(refused->status, 409);
    EXPECT_THAT(refused->body, HasSubstr("restart: workers"));
    configure(topic(orders_) + topic(gifts_));
    EXPECT_EQ(post("reload", "{}")->status, 200);
    orders.stop();
    gifts.stop();
    expect_once(orders_, orders.keys());
    expect_once(gifts_, gifts.keys());
    EXPECT_GE(schema_.database().number("SELECT count(*) FROM audit_log WHERE act = 'reload' AND "
                                        "who = 'alice' AND outcome = 'done'"),
              7);
    stop(process);
}

}  // namespace
}  // namespace onceward::kafka_tests
