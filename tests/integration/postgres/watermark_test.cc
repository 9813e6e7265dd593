// The write of a watermark: who may make it and when, against a real server and under the workers'
// role.

#include "dedup/retention/watermark.h"

#include <gtest/gtest.h>

#include "dedup/ledger/ledger.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using support::FreshSchema;

constexpr const char* me = "11111111-1111-4111-8111-111111111111";
constexpr const char* another = "22222222-2222-4222-8222-222222222222";

class Watermark : public testing::Test {
  protected:
    Watermark() : worker_(schema_.worker()) {
        schema_.database().execute(
            "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, "
            "first_offset, "
            "next_offset, topic_id) VALUES ('group', 'topic', 3, gen_random_uuid(), $1, 0, 100, "
            "'T')",
            {me});
        now_ = read_clocks(worker_).database;
    }
    bool write(WallTime moment, std::int64_t end, const std::string& owner = me,
               const std::optional<Span>& to_end = std::nullopt,
               const std::string& topic_id = "T") {
        return write_watermark(worker_, {"group", "topic", Partition{3}, owner, topic_id},
                               {moment, Offset{end}}, to_end);
    }
    // Microseconds from the test's moment to the stored watermark; none if there is no
    // watermark.
    std::optional<std::int64_t> stored() {
        const auto rows = schema_.database().execute(
            "SELECT (extract(epoch FROM watermark) * 1000000)::bigint FROM fences");
        if (!rows[0][0]) return std::nullopt;
        return std::stoll(*rows[0][0]) - now_.time_since_epoch().count();
    }
    std::int64_t fence() { return schema_.database().number("SELECT next_offset FROM fences"); }
    static Span span(std::int64_t begin, std::int64_t end) {
        return {Partition{3}, Offset{begin}, Offset{end}};
    }

    FreshSchema schema_;
    Connection worker_;
    WallTime now_;
};

TEST_F(Watermark, IsTheSamplesClockToTheMicrosecond) {
    EXPECT_TRUE(write(now_ + 7us, 100));
    EXPECT_EQ(stored(), 7);
    EXPECT_EQ(fence(), 100);
}

TEST_F(Watermark, IsNotWrittenBeforeTheFenceHasReachedTheEnd) {
    EXPECT_FALSE(write(now_, 101));
    EXPECT_FALSE(stored());
}

TEST_F(Watermark, IsNotWrittenByAnybodyButTheOwner) {
    EXPECT_FALSE(write(now_, 100, another));
    EXPECT_FALSE(stored());
}

TEST_F(Watermark, NeverGoesBack) {
    EXPECT_TRUE(write(now_, 100));
    EXPECT_TRUE(write(now_ - 1h, 100));
    EXPECT_EQ(stored(), 0);
}

TEST_F(Watermark, OfAnotherTopicOfTheSameNameDoesNotCount) {
    EXPECT_FALSE(write(now_, 100, me, std::nullopt, "U"));
    EXPECT_FALSE(stored());
    EXPECT_TRUE(write(now_, 100, me, std::nullopt, "")) << "a broker without topic ids";
}

TEST_F(Watermark, TakesTheFenceToTheEndOfThePartition) {
    EXPECT_TRUE(write(now_, 105, me, span(100, 105)));
    EXPECT_EQ(fence(), 105);
    EXPECT_EQ(stored(), 0);
}

TEST_F(Watermark, MovesTheFenceOnlyFromWhereTheReadingBegan) {
    EXPECT_FALSE(write(now_, 105, me, span(99, 105)));
    EXPECT_FALSE(write(now_, 105, me, span(101, 105)));
    EXPECT_FALSE(write(now_, 50, me, span(100, 60))) << "a fence went back";
    EXPECT_FALSE(write(now_, 106, me, span(100, 105))) << "the end is not reached yet";
    EXPECT_EQ(fence(), 100);
    EXPECT_FALSE(stored());
}

TEST_F(Watermark, OfARetiredGroupIsLeftAlone) {
    schema_.database().execute("UPDATE fences SET retired_at = now()");
    EXPECT_FALSE(write(now_, 100));
}

TEST_F(Watermark, TheListOfPartitionsIsASampleToo) {
    const int ledger = register_ledger(worker_, {.name = "orders"}, "group", "topic").ledger;
    const auto known = [&] {
        return schema_.database().value(
            "SELECT partitions || ' ' || coalesce(round(extract(epoch FROM watermark) - " +
            std::to_string(now_.time_since_epoch().count() / 1'000'000) +
            ")::text, 'none') FROM ledger_feeds");
    };
    const auto list = [&](std::chrono::seconds later, int partitions) {
        return write_partition_list(worker_, ledger, "group", "topic", {now_ + later, now_ + later},
                                    partitions);
    };
    now_ = std::chrono::floor<std::chrono::seconds>(now_);
    EXPECT_TRUE(list(0s, 0));
    EXPECT_EQ(known(), "0 none") << "an empty list says nothing of what the log holds";
    EXPECT_TRUE(list(2s, 4));
    EXPECT_EQ(known(), "4 2");
    EXPECT_TRUE(list(1s, 5));
    EXPECT_EQ(known(), "5 2") << "the clock went back";
    EXPECT_TRUE(list(3s, 4));
    EXPECT_EQ(known(), "5 3") << "a broker that has not heard of the added partition yet";
    EXPECT_FALSE(write_partition_list(worker_, ledger, "group", "topic", {now_ + 2min, now_}, 6));
    EXPECT_EQ(known(), "5 3");
}

TEST_F(Watermark, OfRequestsIsTheClockLessTheLongestThatAnyProcessAllows) {
    const auto behind = [&](std::chrono::milliseconds longest) {
        const int ledger =
            register_requests(worker_, {.name = "calls"}, "shop", "charge", longest).ledger;
        return schema_.database().number(
            "SELECT round(extract(epoch FROM clock_timestamp() - ledger_watermark(" +
            std::to_string(ledger) + ")))::bigint");
    };
    EXPECT_EQ(behind(600s), 600);
    EXPECT_EQ(behind(60s), 600) << "a process with ten minutes may still run";
    EXPECT_EQ(behind(1200s), 1200);
    schema_.database().execute("UPDATE ledger_feeds SET retired_at = now()");
    EXPECT_EQ(behind(60s), 60) << "nobody was left";
}

TEST_F(Watermark, ClocksAreReadToTheMicrosecond) {
    const ClockReading clocks = read_clocks(worker_);
    EXPECT_TRUE(clocks_agree(clocks));
    EXPECT_GE(clocks.database, now_);
}

}  // namespace
}  // namespace onceward
