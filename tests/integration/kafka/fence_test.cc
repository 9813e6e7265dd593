// Two that believe they own a partition, a frozen one, and tables that change under the worker.

#include "dedup/fence/fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "dedup/server/frozen_session_guard.h"
#include "lab/embedded/child_process.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

TEST(Stolen, AStolenFenceIsTakenBackAfterAPauseAndNothingIsAppliedTwice) {
    Scene scene;
    WorkerOptions options = scene.options();
    options.batch.messages = 20;
    scene.start(std::move(options));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    Connection connection(scene.schema().worker());
    onceward::Fences thief(scene.group(), "thief");
    for (int round = 0; round < 3; ++round) {
        scene.send(500);
        thief.take_over(connection, scene.topic(), Partition{0}, {}, 0, [] { return true; });
        scene.send(100);
        EXPECT_TRUE(scene.all_applied());
    }
    scene.expect_exact();
    EXPECT_GE(std::stoi(scene.fence(0, "epoch")), 7);
}

// The worker as a process of its own, which can be stopped as a whole.
class Frozen : public testing::Test {
  protected:
    Frozen() {
        std::ofstream(file("yaml"))
            << "group: " << scene_.group()
            << "\nkafka:\n  bootstrap_servers: " << support::kafka_bootstrap_servers()
            << "\n  properties:\n    session.timeout.ms: 1000\n    heartbeat.interval.ms: 150\n"
               "    max.poll.interval.ms: 1500\n    fetch.wait.max.ms: 20\n"
            << "postgres:\n  dsn: \"" << scene_.schema().server().worker_dsn
            << "\"\n  schema: " << scene_.schema().name()
            << "\ndrain_timeout: 1s\ntopics:\n  - name: " << scene_.topic()
            << "\n    format: json\n    key: {preset: idempotency-key}\n    sink:\n      table: "
            << scene_.schema().name()
            << ".effects\n      columns:\n        key: {header: Idempotency-Key}\n"
               "        id: /id\n        kafka_partition: {metadata: partition}\n"
               "        kafka_offset: {metadata: offset}\n";
    }
    ~Frozen() override {
        std::filesystem::remove(file("yaml"));
        std::filesystem::remove(file("log"));
    }
    std::filesystem::path file(const std::string& kind) const {
        return std::filesystem::path(testing::TempDir()) / (scene_.topic() + "." + kind);
    }
    ChildProcess start_process() {
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "run", "--config", file("yaml").string()};
        options.output = file("log");
        return ChildProcess(options);
    }
    // The worker's session that waits for `blocker` and has its fence; 0 if there is none. The
    // worker has others, which may wait for the table too, and so may sessions of earlier tests.
    std::string inside_transaction(support::Database& blocker) {
        return blocker.value(
            "SELECT coalesce(min(pid), 0) FROM pg_stat_activity AS session "
            "WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)) AND EXISTS ("
            "SELECT FROM pg_locks WHERE pg_locks.pid = session.pid AND granted AND relation = '" +
            scene_.schema().name() + ".fences'::regclass)");
    }
    Scene scene_;
};

TEST_F(Frozen, AWorkerFrozenInsideATransactionWakesAndCommitsNothingWhileAnotherWentOn) {
    ChildProcess process = start_process();
    scene_.send(20);
    ASSERT_TRUE(scene_.all_applied()) << tail_of(file("log"));
    support::Database blocker(scene_.schema().server().dsn);
    blocker.execute("BEGIN; LOCK TABLE " + scene_.schema().name() + ".effects");
    scene_.send(30);
    // When the table is free, it is inside its transaction, and frozen.
    std::string session;
    ASSERT_TRUE(eventually(patience, [&] {
        session = inside_transaction(blocker);
        return session != "0";
    }));
    process.send(SIGSTOP);
    blocker.execute("ROLLBACK");
    ASSERT_TRUE(eventually(patience, [&] {
        return scene_.database().value("SELECT state FROM pg_stat_activity WHERE pid = " +
                                       session) == "idle in transaction";
    }));

    FrozenSessionGuard guard(
        FrozenSessionGuardOptions{scene_.schema().worker(), 400ms, 50ms, 300ms});
    WorkerOptions options = scene_.options();
    options.guard = &guard;
    // The other process has made a log of its ledger, as any topic that says no store.
    options.topics[0].ledger.any_store = true;
    Worker& other = scene_.start(std::move(options));
    EXPECT_TRUE(scene_.all_applied());
    EXPECT_EQ(other.status().totals.applied, 30);
    EXPECT_EQ(guard.ended(), 1U);

    process.send(SIGCONT);
    EXPECT_TRUE(eventually(patience, [&] {
        return tail_of(file("log"), 100'000).find("postgres.connection_lost") != std::string::npos;
    })) << tail_of(file("log"));
    scene_.send(50);
    scene_.expect_all_once();
    process.send(SIGTERM);
    EXPECT_TRUE(process.wait(30s));
    scene_.expect_exact();
    scene_.stop_all();
}

TEST(SinkTable, ATopicWhoseTableChangedStopsTheOtherGoesOnAndItComesBackByItself) {
    Scene scene;
    WorkerOptions options = scene.options();
    const std::string second = scene.add_other_topic(options);
    Worker& worker = scene.start(std::move(options));
    const auto others = [&] { return scene.database().number("SELECT count(*) FROM others"); };
    scene.send(20);
    scene.kafka().produce(second, scene.make(20, 0));
    EXPECT_TRUE(scene.all_applied());
    EXPECT_TRUE(eventually(patience, [&] { return others() == 20; }));

    scene.database().execute("ALTER TABLE effects RENAME COLUMN id TO number");
    scene.send(20);
    EXPECT_THAT(Scene::halted(worker), HasSubstr("effects"));
    scene.kafka().produce(second, scene.make(20, 0));
    EXPECT_TRUE(eventually(patience, [&] { return others() == 40; }));
    EXPECT_EQ(scene.applied(), 20);
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM dead_letters"), 0);

    scene.database().execute("ALTER TABLE effects RENAME COLUMN number TO id");
    EXPECT_TRUE(scene.all_applied());
    EXPECT_EQ(scene.applied(), 40);
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().halted.empty(); }));
}

class DamagedLedger final : public ClaimStore {
  public:
    explicit DamagedLedger(std::atomic<int>& released) : released_(released) {}
    void release_all() override { ++released_; }
    void catch_up(Connection&) override { throw std::runtime_error("this is not a filter"); }
    std::optional<std::vector<ClaimAnswer>> claim(Transaction&, std::span<const Claim>) override {
        return std::nullopt;
    }

  private:
    std::atomic<int>& released_;  // how often it was asked to
};

WorkerOptions with_damaged_ledger(Scene& scene, std::atomic<int>& released) {
    WorkerOptions options = scene.options();
    options.first_retry = 1h;
    options.topics[0].claims = [&released](const RegisteredLedger&) {
        return std::make_unique<DamagedLedger>(released);
    };
    return options;
}

// A worker follows its ledgers while it has nothing to do.
TEST(Ledgers, OneThatCannotBeReadStopsItsOwnTopicAloneAlsoWithoutMessages) {
    std::atomic<int> released = 0;
    Scene scene;
    WorkerOptions options = with_damaged_ledger(scene, released);
    const std::string second = scene.add_other_topic(options);
    Worker& worker = scene.start(std::move(options));
    EXPECT_THAT(Scene::halted(worker), HasSubstr("not a filter"));
    scene.kafka().produce(second, scene.make(20, 0));
    EXPECT_TRUE(eventually(
        patience, [&] { return scene.database().number("SELECT count(*) FROM others") == 20; }));
    EXPECT_EQ(worker.finished(), std::nullopt);
}

// When the first topic's ledger is followed, a message comes.
struct FollowedLedgers {
    std::function<void()> send;
    std::atomic<bool> sends = false;
    std::atomic<bool> sent = false;
    std::atomic<bool> claimed = false;
    std::atomic<int> followed_meanwhile = 0;
};

class SlowLedger final : public ClaimStore {
  public:
    SlowLedger(FollowedLedgers& all, bool first) : all_(all), first_(first) {}
    void catch_up(Connection&) override {}
    void follow(Connection&) override {
        if (all_.sent && !all_.claimed) ++all_.followed_meanwhile;
        if (!first_ || !all_.sends.exchange(false)) return;
        all_.send();
        // The reader has the message by then, and the writer is here.
        EXPECT_TRUE(stays(1s, [this] { return !all_.claimed; }));
        all_.sent = true;
    }
    std::optional<std::vector<ClaimAnswer>> claim(Transaction&,
                                                  std::span<const Claim> claims) override {
        all_.claimed = all_.sent.load();
        return std::vector<ClaimAnswer>(claims.size());
    }

  private:
    FollowedLedgers& all_;
    bool first_;
};

TEST(Ledgers, AMessageThatComesWhileOneIsFollowedDoesNotWaitForTheOthers) {
    FollowedLedgers ledgers;
    Scene scene;
    ledgers.send = [&] { scene.send(1); };
    WorkerOptions options = scene.options();
    scene.add_other_topic(options);
    for (std::size_t topic = 0; topic < options.topics.size(); ++topic) {
        options.topics[topic].claims = [&ledgers, topic](const RegisteredLedger&) {
            return std::make_unique<SlowLedger>(ledgers, topic == 0);
        };
    }
    Worker& worker = scene.start(std::move(options));
    scene.send(1);
    ASSERT_TRUE(scene.all_applied());
    ASSERT_TRUE(eventually(patience, [&] { return worker.status().partitions == 2; }));
    ledgers.sends = true;
    EXPECT_TRUE(eventually(patience, [&] { return ledgers.claimed.load(); }));
    EXPECT_EQ(ledgers.followed_meanwhile, 0);
    EXPECT_TRUE(scene.all_applied());
}

TEST(Ledgers, AHaltedTopicReleasesTheMemoryOfItsLedger) {
    std::atomic<int> released = 0;
    Scene scene;
    Worker& worker = scene.start(with_damaged_ledger(scene, released));
    EXPECT_THAT(Scene::halted(worker), HasSubstr("not a filter"));
    const int before = released;
    EXPECT_TRUE(eventually(patience, [&] { return released > before; }));
}

}  // namespace
}  // namespace onceward::kafka_tests
