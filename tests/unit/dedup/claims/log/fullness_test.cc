// When a ledger's open generation takes too much of a process's memory.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "dedup/claims/log/log_window.h"
#include "tests/unit/dedup/messages.h"

namespace onceward {
namespace {

using test::digest;

void hold_claim(LogWindow& window, std::int64_t generation, const Digest& key) {
    const LogBatch batch{window.position().last + 1, {&key, 1}, {}};
    window.take_in(generation, {&batch, 1});
}

// It is of the first generation.
LogWindow::Segment without_filter() {
    return {0, 1, {{0, 0, std::make_shared<SegmentFilter>(0, 1)}}};
}

// A table of up to 12 of these digests takes 256 bytes, and of up to 24 it takes 512.
TEST(LogWindows, AGenerationIsFullWhenRecentClaimsTakeHalfOfTheLimit) {
    LogWindows windows(1024);
    const std::shared_ptr<LogWindow> one = windows.make(1);
    EXPECT_EQ(windows.fullness(1, 1), 0);
    hold_claim(*one, 1, digest(1));
    EXPECT_EQ(windows.fullness(1, 1), 0.5);
    EXPECT_EQ(windows.fullness(1, 2), 0) << "another generation";
    EXPECT_EQ(windows.fullness(2, 1), 0) << "another ledger";
    const std::shared_ptr<LogWindow> another = windows.make(1);
    hold_claim(*another, 1, digest(2));
    EXPECT_EQ(windows.fullness(1, 1), 1) << "of two partitions";
    one->put_segment(1, without_filter());
    another->put_segment(1, without_filter());
    EXPECT_EQ(windows.fullness(1, 1), 0) << "filters are no recent claims";
}

// Otherwise each look would seal another small generation while the large one becomes filters.
TEST(LogWindows, AGenerationIsNotFullWhileSealedOnesTakeTheMemory) {
    LogWindows windows(1024);
    const std::shared_ptr<LogWindow> window = windows.make(1);
    for (std::uint8_t key = 1; key <= 20; ++key) hold_claim(*window, 1, digest(key));
    hold_claim(*window, 2, digest(21));
    EXPECT_EQ(windows.fullness(1, 2), 0.5);
}

// A stopped worker, for example, keeps sealed claims until it continues.
TEST(LogWindows, AGenerationThatTakesHalfOfTheLimitIsFullWhateverElseIsHeld) {
    LogWindows windows(1024);
    const std::shared_ptr<LogWindow> stopped = windows.make(1);
    const std::shared_ptr<LogWindow> active = windows.make(1);
    hold_claim(*stopped, 1, digest(1));
    for (std::uint8_t key = 2; key <= 21; ++key) hold_claim(*active, 2, digest(key));
    EXPECT_EQ(windows.fullness(1, 2), 1);
}

TEST(LogWindows, WithoutMemoryEachGenerationIsFull) {
    LogWindows windows(0);
    const std::shared_ptr<LogWindow> window = windows.make(1);
    hold_claim(*window, 1, digest(1));
    EXPECT_GE(windows.fullness(1, 1), 1);
}

TEST(LogWindows, OfSeveralLedgersTheLargestGenerationIsFullFirst) {
    LogWindows windows(1024);
    const std::shared_ptr<LogWindow> small = windows.make(1);
    const std::shared_ptr<LogWindow> large = windows.make(2);
    hold_claim(*small, 1, digest(1));
    for (std::uint8_t key = 1; key <= 20; ++key) hold_claim(*large, 1, digest(key));
    EXPECT_LT(windows.fullness(1, 1), 1);
    EXPECT_GE(windows.fullness(2, 1), 1);
}

// A window that knows of the second generation, so that the first one is sealed.
std::shared_ptr<LogWindow> window_after_a_rotation(LogWindows& windows, int ledger) {
    std::shared_ptr<LogWindow> window = windows.make(ledger);
    window->begin({.generation = 1});
    window->next_generation(2);
    return window;
}

// Batches of a ledger that holds little do not wait: sealing its claims would free little.
TEST(LogWindows, ALedgerHoldsMuchFromItsShareOfAllRecentClaimsOn) {
    LogWindows windows(1024);
    const std::shared_ptr<LogWindow> small = window_after_a_rotation(windows, 1);
    hold_claim(*small, 1, digest(1));
    EXPECT_FALSE(windows.holds_much(1)) << "alone, but less than half of the limit";
    const std::shared_ptr<LogWindow> large = window_after_a_rotation(windows, 2);
    for (std::uint8_t key = 1; key <= 20; ++key) hold_claim(*large, 1, digest(key));
    hold_claim(*large, 2, digest(21));
    EXPECT_FALSE(windows.holds_much(1));
    EXPECT_TRUE(windows.holds_much(2));
    EXPECT_FALSE(windows.holds_much(3)) << "it holds nothing";
}

// Otherwise half of these ledgers would pause before each batch until their generations are large
// enough, for hours, and nothing would be freed.
TEST(LogWindows, NoLedgerHoldsMuchIfAllAreOverTheLimitWithGenerationsTooSmallToBeSealed) {
    LogWindows windows(1024);
    std::vector<std::shared_ptr<LogWindow>> held;
    for (int ledger = 1; ledger <= 10; ++ledger) {
        held.push_back(windows.make(ledger));
        held.back()->begin({.generation = 1});
        for (std::uint8_t key = 1; key <= ledger; ++key) hold_claim(*held.back(), 1, digest(key));
    }
    ASSERT_GT(windows.bytes(), windows.limit());
    for (int ledger = 1; ledger <= 10; ++ledger) EXPECT_FALSE(windows.holds_much(ledger));
    held[9]->next_generation(2);
    EXPECT_TRUE(windows.holds_much(10)) << "its claims are about to become filters";
    EXPECT_FALSE(windows.holds_much(9));
}

TEST(LogWindows, ALedgerHoldsMuchFromTheSizeOnAtWhichRetentionSealsItsOpenGeneration) {
    LogWindows windows(1024);
    const std::shared_ptr<LogWindow> window = windows.make(1);
    window->begin({.generation = 1});
    std::vector<Digest> keys(fewest_claims_by_memory - 1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        std::memcpy(keys[i].bytes.data() + 8, &i, sizeof i);
    }
    const LogBatch batch{1, keys, {}};
    window->take_in(1, {&batch, 1});
    EXPECT_FALSE(windows.holds_much(1));
    hold_claim(*window, 1, digest_of_bytes("one more"));
    EXPECT_TRUE(windows.holds_much(1));
}

// A worker's topics take turns, and each of them may lack filters.
TEST(LogWindows, TheTopicsOfAWorkerReadFiltersForAThirdOfItsTimeTogether) {
    using namespace std::chrono_literals;
    LogWindows windows;
    const LogWindow::Clock::time_point begin{1h};
    EXPECT_EQ(windows.reading_time(begin), 200ms) << "nothing was read yet";
    windows.filters_read(begin);
    EXPECT_EQ(windows.reading_time(begin + 1ms), 5ms);
    EXPECT_EQ(windows.reading_time(begin + 1h), 200ms);
    auto now = begin;
    std::chrono::milliseconds reading{};
    for (int batch = 0; batch < 100; ++batch) {
        now += 20ms;
        const std::chrono::milliseconds read = windows.reading_time(now);
        reading += read;
        now += read;
        windows.filters_read(now);
    }
    EXPECT_LE(3 * reading, now - begin);
}

}  // namespace
}  // namespace onceward
