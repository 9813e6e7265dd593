// How often the relay reads the outbox, if a read takes long.

#include "consumer/relay/read_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/consumer/relay/outbox_records.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using relay_test::record;
using relay_test::sendable;
using relay_test::start;

TEST(ReadPace, AfterAShortReadThatFoundRowsTheNextOneIsDueAtOnce) {
    ReadPace pace;
    EXPECT_TRUE(pace.is_due(start, false));
    pace.ended(start, start + 49ms, true);
    EXPECT_TRUE(pace.is_due(start + 49ms, false));
}

TEST(ReadPace, AfterAReadThatFoundNothingItPauses) {
    ReadPace pace;
    pace.ended(start, start + 1ms, false);
    EXPECT_FALSE(pace.is_due(start + 50ms, false));
    EXPECT_TRUE(pace.is_due(start + 51ms, false));
    pace.read_at(start + 10ms);
    EXPECT_TRUE(pace.is_due(start + 10ms, false)) << "a writer has told it of rows";
}

TEST(ReadPace, ALongReadLeavesAsMuchTimeForSending) {
    for (const bool found : {false, true}) {
        ReadPace pace;
        pace.ended(start, start + 800ms, found);
        EXPECT_FALSE(pace.is_due(start + 1599ms, false));
        EXPECT_TRUE(pace.is_due(start + 1600ms, false));
    }
}

TEST(ReadPace, AShortReadThatWasNeededAtOnceDoesNotEndThePauseOfALongOne) {
    ReadPace pace;
    pace.ended(start, start + 800ms, false);
    EXPECT_TRUE(pace.is_due(start + 850ms, true));
    pace.ended(start + 850ms, start + 851ms, true);
    EXPECT_FALSE(pace.is_due(start + 1599ms, false));
}

// 10,000 rows of one key. A read that leaves the key out passes over all of them, 80 us for each.
// A record takes a millisecond. Without the pause such a read followed each record.
TEST(ReadPace, ABacklogOfOneKeyIsSentHalfOfTheTime) {
    RelayBook book({});
    ReadPace pace;
    auto now = start;
    std::int64_t left = 10'000;
    std::chrono::milliseconds reads{0};
    while (left > 0) {
        if (pace.is_due(now, book.waits_for_rows() || book.empty())) {
            const bool is_out = !book.left_out(now).keys.empty();
            const auto took = is_out ? std::chrono::milliseconds(left * 80 / 1000) : 1ms;
            std::vector<OutboxRecord> rows;
            const auto first = 10'000 - left + 1;
            const auto last = std::min<std::int64_t>(first + 499, 10'000);
            for (auto i = first; !is_out && i <= last; ++i) rows.push_back(record(i, "hot"));
            pace.ended(now, now + took, !is_out);
            book.add(std::move(rows));
            now += took;
            reads += took;
        }
        for (const std::int64_t position : sendable(book, now)) {
            now += 1ms;
            book.delivered(position, now);
            --left;
        }
    }
    EXPECT_LE(reads, (now - start) / 2 + 1s);
    EXPECT_LT(now - start, 25s);
}

}  // namespace
}  // namespace onceward
