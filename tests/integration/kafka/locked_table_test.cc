// Two topics in one worker, and the table of one of them is locked: the other topic continues.
// ONCEWARD_LOCK_SECONDS makes the lock as long as that, and the test then prints the other topic's
// lag each second.

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <iostream>

#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using Clock = std::chrono::steady_clock;

class LockedTable : public testing::Test {
  protected:
    // `lock_timeout`: how long one try of the locked topic holds up the writer.
    Worker& start(milliseconds lock_timeout) {
        WorkerOptions options = scene_.options();
        options.postgres.lock_timeout = lock_timeout;
        other_ = scene_.add_other_topic(options);
        return scene_.start(std::move(options));
    }
    void send_others(int messages) {
        scene_.kafka().produce(other_, scene_.make(messages, 0));
        sent_ += messages;
    }
    std::int64_t others() {
        return looker_.number("SELECT count(*) FROM " + scene_.schema().name() + ".others");
    }
    bool others_applied(milliseconds limit = patience) {
        return eventually(limit, [&] { return others() == sent_; });
    }
    void begin() {
        scene_.send(20);
        send_others(20);
        ASSERT_TRUE(scene_.all_applied());
        ASSERT_TRUE(others_applied());
    }
    // Each key of both topics has one row, and the fences have counted it.
    void expect_each_once() {
        EXPECT_EQ(looker_.number("SELECT sum(applied) FROM " + scene_.schema().name() + ".fences"),
                  scene_.applied() + others());
        EXPECT_EQ(scene_.database().number("SELECT count(*) - count(DISTINCT key) FROM effects"),
                  0);
        EXPECT_EQ(scene_.database().number("SELECT count(*) - count(DISTINCT key) FROM others"), 0);
        EXPECT_EQ(others(), sent_);
    }
    void lock() { scene_.database().execute("BEGIN; LOCK TABLE effects"); }

    Scene scene_;
    support::Database looker_{scene_.schema().server().dsn};
    std::string other_;  // since start()
    std::int64_t sent_ = 0;
};

TEST_F(LockedTable, HoldsUpItsOwnTopicAlone) {
    Worker& worker = start(1500ms);
    begin();
    const CapturedLog log;
    lock();
    scene_.send(50);
    ASSERT_TRUE(log.says("topic.waits"));
    for (int i = 0; i < 5; ++i) {
        send_others(20);
        EXPECT_TRUE(others_applied());
    }
    EXPECT_TRUE(worker.status().halted.empty());
    scene_.database().execute("COMMIT");
    EXPECT_TRUE(scene_.all_applied());
    expect_each_once();
}

TEST_F(LockedTable, DoesNotHoldUpTheTakeOverOfAnotherTopic) {
    start(1500ms);
    begin();
    scene_.stop_all();
    lock();
    scene_.send(50);
    send_others(20);
    WorkerOptions options = scene_.options();
    options.postgres.lock_timeout = 1500ms;
    options.topics.push_back(scene_.worker_topic(other_, "others"));
    scene_.start(std::move(options));
    EXPECT_TRUE(others_applied());
    scene_.database().execute("COMMIT");
    EXPECT_TRUE(scene_.all_applied());
    expect_each_once();
}

TEST(ALockedTable, DoesNotHoldUpAPartitionThatLeaves) {
    Scene scene({.partitions = 2});
    const auto options = [&scene] {
        WorkerOptions options = scene.options();
        options.kafka.properties["max.poll.interval.ms"] = "300000";
        options.postgres.lock_timeout = 1500ms;
        options.drain_timeout = 2 * patience;
        return options;
    };
    scene.start(options());
    scene.send(20);
    ASSERT_TRUE(scene.all_applied());
    const CapturedLog log;
    support::Database looker(scene.schema().server().dsn);
    const auto waiting = [&](int sessions) {
        return eventually(patience, [&] {
            return looker.number("SELECT count(*) FROM pg_locks WHERE NOT granted") == sessions;
        });
    };
    // The next batch collects messages of both partitions while this one waits for the first lock.
    scene.database().execute("BEGIN; LOCK TABLE effects");
    scene.send(1);
    ASSERT_TRUE(waiting(1));
    scene.send(20);
    support::Database second(scene.schema().server().dsn);
    auto locked = std::async(std::launch::async, [&] {
        second.execute("BEGIN; LOCK TABLE " + scene.schema().name() + ".effects");
    });
    ASSERT_TRUE(waiting(2));
    scene.database().execute("COMMIT");
    locked.get();
    ASSERT_TRUE(log.says("batch.retried"));
    Worker& next = scene.start(options());
    EXPECT_TRUE(eventually(patience / 2, [&] { return next.status().partitions == 1; }));
    second.execute("COMMIT");
    scene.expect_all_once();
}

// The worker has two topics, so that a topic in trouble is set aside.
class ALockedFence : public testing::Test {
  protected:
    WorkerOptions options() {
        WorkerOptions options = scene_.options();
        options.postgres.lock_timeout = 300ms;
        return options;
    }
    // Starts a worker again while a transaction holds the rows of these fences of the topic.
    void start_with_locked(const std::string& which) {
        WorkerOptions first = options();
        other_ = scene_.add_other_topic(first);
        scene_.start(std::move(first));
        scene_.send(20);
        scene_.kafka().produce(other_, scene_.make(1, 0));
        ASSERT_TRUE(scene_.all_applied());
        ASSERT_TRUE(others_applied(1));
        scene_.stop_all();
        blocker_.execute("BEGIN; SELECT FROM " + scene_.schema().name() +
                         ".fences WHERE topic = '" + scene_.topic() + "' AND " + which +
                         " FOR UPDATE");
        WorkerOptions second = options();
        second.topics.push_back(scene_.worker_topic(other_, "others"));
        scene_.start(std::move(second));
    }
    std::int64_t others() { return scene_.database().number("SELECT count(*) FROM others"); }
    bool others_applied(int count) {
        return eventually(patience, [&] { return others() == count; });
    }
    void release_and_expect_each_once() {
        blocker_.execute("COMMIT");
        scene_.send(8);
        EXPECT_TRUE(scene_.all_applied());
        EXPECT_EQ(scene_.database().number("SELECT sum(applied) FROM fences"),
                  scene_.applied() + others());
        EXPECT_EQ(scene_.database().number("SELECT count(*) - count(DISTINCT key) FROM effects"),
                  0);
    }

    Scene scene_{{.partitions = 8}};
    support::Database blocker_{scene_.schema().server().dsn};
    std::string other_;  // the other topic
    const CapturedLog log_;
};

TEST_F(ALockedFence, DoesNotHoldUpTheTopicsOtherPartitions) {
    start_with_locked("partition = 0");
    ASSERT_TRUE(log_.says("partition.waits"));
    scene_.send(7, 1);
    EXPECT_TRUE(scene_.all_applied());
    release_and_expect_each_once();
}

// There is always one of them whose next try would be due.
TEST_F(ALockedFence, LeavesBatchesTheirTimeHoweverManyAreLocked) {
    start_with_locked("true");
    for (int count = 2; count < 7; ++count) {
        ASSERT_TRUE(log_.says("partition.waits"));
        scene_.kafka().produce(other_, scene_.make(1, 0));
        ASSERT_TRUE(others_applied(count));
    }
    release_and_expect_each_once();
}

// A trigger that asks for another try of one row, at once and always: the row is at fault then.
TEST_F(LockedTable, ASinkThatAlwaysSaysToTryAgainHoldsUpItsOwnTopicAloneAndNotForEver) {
    start(10s);
    begin();
    scene_.database().execute(
        "CREATE FUNCTION busy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF new.id = 50 THEN RAISE EXCEPTION 'busy' USING ERRCODE = '55006'; END IF; "
        "RETURN new; END $$; "
        "CREATE TRIGGER busy BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION busy()");
    const CapturedLog log;
    scene_.send(50);
    ASSERT_TRUE(log.says("topic.waits"));
    send_others(20);
    EXPECT_TRUE(others_applied());
    EXPECT_TRUE(eventually(patience, [&] { return scene_.applied() == 20 + 49; }));
    EXPECT_EQ(scene_.database().value("SELECT string_agg(sqlstate, ' ') FROM dead_letters"),
              "55006");
    expect_each_once();
}

// The figures of a long lock, with the default lock_timeout.
TEST_F(LockedTable, KeepsTheOtherTopicsLagBelowOneTryOfTheLock) {
    const char* given = std::getenv("ONCEWARD_LOCK_SECONDS");
    const auto length = std::chrono::seconds(given == nullptr ? 5 : std::atoi(given));
    const milliseconds lock_timeout = given == nullptr ? milliseconds(1500) : milliseconds(10'000);
    start(lock_timeout);
    begin();
    lock();
    scene_.send(50);
    std::int64_t most = 0;
    const auto until = Clock::now() + length;
    auto next = Clock::now();
    for (int second = 0; Clock::now() < until; ++second) {
        next += 1s;
        send_others(100);
        eventually(std::chrono::duration_cast<milliseconds>(next - Clock::now()),
                   [&] { return Clock::now() >= next; });
        const std::int64_t lag = sent_ - others();
        most = std::max(most, lag);
        if (given != nullptr) {
            std::cout << "after " << second + 1 << " s: lag of the other topic " << lag
                      << " messages\n";
        }
    }
    // 100 messages a second: what one try holds up, and a second or two of a busy machine.
    EXPECT_LE(most, (lock_timeout / 1s + 2) * 100);
    scene_.database().execute("COMMIT");
    EXPECT_TRUE(others_applied());
    EXPECT_TRUE(scene_.all_applied());
    expect_each_once();
}

}  // namespace
}  // namespace onceward::kafka_tests
