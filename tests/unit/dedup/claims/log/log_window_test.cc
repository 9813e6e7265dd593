#include "dedup/claims/log/log_window.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/dedup/messages.h"

namespace onceward {
namespace {

using test::digest;

Claim claim(const Digest& key, std::optional<Digest> fingerprint = std::nullopt, int partition = 0,
            std::int64_t offset = 0) {
    return {key, fingerprint, Partition{partition}, Offset{offset}};
}

Verdict verdict(const LogWindow& window, const Claim& wanted) {
    std::vector<ClaimAnswer> answers(1);
    std::vector<LogWindow::Suspect> suspects;
    window.look_up({&wanted, 1}, answers, suspects);
    return answers[0].verdict;
}

// A segment of one generation that is not in parts, without its filter.
LogWindow::Segment whole(std::int64_t generation, std::int64_t claims, int merge = 0) {
    return {merge, generation, {{0, 0, std::make_shared<SegmentFilter>(0, claims)}}};
}

void take_in(LogWindow& window, std::int64_t generation, std::int64_t seq, const Digest& key) {
    const LogBatch batch{seq, {&key, 1}, {}};
    window.take_in(generation, {&batch, 1});
}

TEST(LogWindow, KnowsWhatItTookInAndUpToWhere) {
    LogWindow window;
    window.begin({.generation = 1, .floor = 0, .evictions = 3});
    EXPECT_EQ(verdict(window, claim(digest(1))), Verdict::fresh);
    take_in(window, 1, 7, digest(1));
    EXPECT_EQ(verdict(window, claim(digest(1))), Verdict::duplicate);
    EXPECT_EQ(window.position().last, 7);
    EXPECT_EQ(window.position().evictions, 3);
    const Digest keys[] = {digest(2), digest(1)};
    EXPECT_TRUE(window.knows_any(keys, 0));
    EXPECT_FALSE(window.knows_any({keys, 1}, 0));
}

// A neighbour may have taken the same in already, and more.
TEST(LogWindow, WhatIsTakenInAgainChangesNothingAndLastNeverGoesBack) {
    LogWindow window;
    window.begin({.generation = 1});
    take_in(window, 1, 9, digest(2));
    take_in(window, 1, 7, digest(1));
    take_in(window, 1, 7, digest(1));
    EXPECT_EQ(window.position().last, 9);
    EXPECT_EQ(window.size(), 2U);
}

TEST(LogWindow, TellsWhoLookedThatSomethingWasPutInSince) {
    LogWindow window;
    const Claim wanted = claim(digest(1));
    std::vector<ClaimAnswer> answers(1);
    std::vector<LogWindow::Suspect> suspects;
    const std::uint64_t before = window.look_up({&wanted, 1}, answers, suspects).version;
    EXPECT_EQ(window.position().version, before);
    take_in(window, 1, 1, digest(1));
    EXPECT_NE(window.position().version, before);
}

TEST(LogWindow, ALookUpSaysUpToWhereItLooked) {
    LogWindow window;
    window.begin({.generation = 1, .floor = 0, .evictions = 3});
    take_in(window, 1, 7, digest(1));
    const Claim wanted = claim(digest(2));
    std::vector<ClaimAnswer> answers(1);
    std::vector<LogWindow::Suspect> suspects;
    const LogWindow::Position looked = window.look_up({&wanted, 1}, answers, suspects);
    take_in(window, 1, 8, digest(2));
    EXPECT_EQ(looked.generation, 1);
    EXPECT_EQ(looked.last, 7);
    EXPECT_EQ(looked.evictions, 3);
}

// Otherwise a batch that looked before both would append a key of that segment once more.
TEST(LogWindow, ASegmentThatCameSinceMayHoldWhatWasPutInSince) {
    LogWindow window;
    window.put_segment(1, whole(1, 0));
    window.begin({.generation = 2, .floor = 3});
    const Digest keys[] = {digest(1)};
    const std::uint64_t before = window.position().version;
    EXPECT_FALSE(window.knows_any(keys, before));
    take_in(window, 2, 4, digest(1));
    window.next_generation(3);
    window.put_segment(2, whole(2, 1));
    EXPECT_NE(window.position().version, before);
    EXPECT_TRUE(window.knows_any(keys, before));
    EXPECT_FALSE(window.knows_any(keys, window.position().version)) << "the segment was asked";
}

TEST(LogWindow, WhatAFilterSaysYesToIsToBeLookedUpInThatPart) {
    const std::vector<Digest> keys{digest_of_bytes("one")};
    std::vector<SegmentPart> parts;
    for (const int number : {1, 2, 3}) {
        const FuseFilter filter(number == 1 ? std::vector<Digest>{} : keys);
        parts.push_back(
            {number, number, std::make_shared<SegmentFilter>(SegmentFilter(0, 1).with(0, filter))});
    }
    LogWindow window;
    window.put_segment(1, {0, 1, std::move(parts)});
    window.put_segment(2, {0, 2, {}});
    EXPECT_TRUE(window.has_segment(2, 0)) << "also where none of its parts is asked for";
    const Claim claims[] = {claim(digest_of_bytes("two")), claim(keys[0])};
    std::vector<ClaimAnswer> answers(2);
    std::vector<LogWindow::Suspect> suspects;
    window.look_up(claims, answers, suspects);
    ASSERT_EQ(suspects.size(), 2U);
    EXPECT_EQ(suspects[0].part, 2);
    EXPECT_EQ(suspects[1].part, 3);
    EXPECT_EQ(suspects[0].place, 1U);
    const std::vector<LogWindow::Whereabouts> places = window.whereabouts(keys[0]);
    ASSERT_EQ(places.size(), 2U);
    EXPECT_EQ(places[0].part, 2);
    EXPECT_EQ(places[1].part, 3);
    EXPECT_EQ(places[0].seq, 0) << "the block tells the batch";
    EXPECT_EQ(answers[1].verdict, Verdict::fresh);
    EXPECT_EQ(window.size(), 3U);
}

std::size_t suspected(const LogWindow& window, const Digest& key) {
    const Claim wanted = claim(key);
    std::vector<ClaimAnswer> answers(1);
    std::vector<LogWindow::Suspect> suspects;
    window.look_up({&wanted, 1}, answers, suspects);
    return suspects.size();
}

TEST(LogWindow, ASegmentWhoseFilterIsNotInMemoryIsAskedForEachKey) {
    LogWindow window;
    window.put_segment(1, whole(1, 1));
    window.put_segment(2, whole(2, 1));
    EXPECT_EQ(suspected(window, digest(1)), 2U);
    const auto missing = window.missing_filter();
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->generation, 2) << "the newest one first";
    const std::vector<Digest> keys{digest_of_bytes("one")};
    window.put_filter(*missing, FuseFilter(keys));
    EXPECT_EQ(suspected(window, digest(1)), 1U);
    EXPECT_EQ(suspected(window, keys[0]), 2U);
    window.put_filter(*window.missing_filter(), FuseFilter(std::vector<Digest>{}));
    EXPECT_FALSE(window.missing_filter());
    window.drop_filters(1);
    EXPECT_EQ(window.missing_filter()->generation, 1) << "the oldest one is given back first";
}

// DANGER: two workers of a process read the list, one before a merge and one after it, and put in
// what they read in the other order. The keys of the third generation would be applied again.
TEST(LogWindow, AListFromBeforeAMergeReplacesNothingOfIt) {
    LogWindow window;
    take_in(window, 3, 7, digest(3));
    window.put_segment(1, {1, 3, whole(1, 3).parts});
    const auto missing = window.missing_filter();
    const std::uint64_t version = window.position().version;
    window.put_segment(1, whole(1, 1));
    window.put_segment(2, whole(2, 1));
    EXPECT_TRUE(window.has_segment(1, 1));
    EXPECT_FALSE(window.has_segment(2, 0));
    EXPECT_EQ(window.position().version, version);
    EXPECT_EQ(suspected(window, digest(3)), 1U);
    window.put_filter(*missing, FuseFilter(std::vector<Digest>{}));
    window.put_segment(1, {1, 3, whole(1, 3).parts});
    EXPECT_FALSE(window.missing_filter()) << "nor does the same one without its filters";
    window.put_segment(1, {2, 4, whole(1, 4).parts});
    EXPECT_TRUE(window.has_segment(1, 2)) << "the next merge does";
}

TEST(LogWindow, TheMissingFiltersOfEarlierSegmentsAreFoundToo) {
    LogWindow window;
    window.put_segment(1, whole(1, 1));
    window.put_segment(2, whole(2, 1));
    EXPECT_EQ(window.missing_filter(2)->generation, 1);
    EXPECT_FALSE(window.missing_filter(1));
}

// DANGER: a key of a generation that went before the merged segment came would be applied again.
TEST(LogWindow, AMergedSegmentReplacesAllOfItsGenerationsInOneStep) {
    LogWindow window;
    window.put_segment(1, whole(1, 1));
    window.put_segment(2, whole(2, 1));
    take_in(window, 3, 7, digest(3));
    take_in(window, 4, 8, digest(4));
    const auto old = window.missing_filter();
    const std::uint64_t before = window.position().version;
    window.put_segment(1, {1, 3, whole(1, 3).parts});
    EXPECT_TRUE(window.has_segment(1, 1));
    EXPECT_FALSE(window.has_segment(2, 0));
    EXPECT_EQ(window.size(), 4U) << "three in the segment, and one of the generation after it";
    EXPECT_EQ(suspected(window, digest(3)), 1U);
    EXPECT_EQ(verdict(window, claim(digest(4))), Verdict::duplicate);
    EXPECT_TRUE(window.knows_any({}, before)) << "who looked before has to look again";
    window.put_filter(*old, FuseFilter(std::vector<Digest>{}));
    EXPECT_EQ(suspected(window, digest(3)), 1U) << "a filter of before is of no use";
    window.forget_before(2);
    EXPECT_EQ(suspected(window, digest(3)), 0U);
}

TEST(LogWindows, CountWhatAllWindowsHoldAsLongAsTheyLive) {
    LogWindows windows(1000);
    const std::shared_ptr<LogWindow> one = windows.join("server", 1);
    std::shared_ptr<LogWindow> two = windows.make(1);
    const std::size_t empty = windows.bytes();
    take_in(*one, 1, 1, digest(1));
    const std::size_t with_one = windows.bytes();
    EXPECT_GT(with_one, empty);
    take_in(*two, 1, 1, digest(1));
    EXPECT_GT(windows.bytes(), with_one);
    two.reset();
    EXPECT_EQ(windows.bytes(), one->bytes());
}

// DANGER: room is made while COMMIT may still fail.
TEST(LogWindow, WhatRoomWasMadeForIsNotKnownYet) {
    LogWindow window;
    window.begin({.generation = 1});
    const Digest keys[] = {digest(1)};
    window.make_room(1, keys);
    EXPECT_EQ(window.size(), 0U);
    take_in(window, 1, 7, digest(2));
    window.make_room(1, keys);
    EXPECT_EQ(window.size(), 1U);
    EXPECT_EQ(verdict(window, claim(digest(1))), Verdict::fresh);
    EXPECT_FALSE(window.knows_any(keys, 0));
    EXPECT_EQ(window.position().last, 7);
}

TEST(LogWindow, KnowsInWhichBatchAFingerprintIs) {
    LogWindow window;
    const Digest key = digest(1), fingerprint = digest(9);
    const LogBatch batch{7, {&key, 1}, {&fingerprint, 1}};
    window.take_in(3, {&batch, 1});
    take_in(window, 3, 8, digest(2));
    ASSERT_EQ(window.whereabouts(key).size(), 1U);
    EXPECT_EQ(window.whereabouts(key)[0].generation, 3);
    EXPECT_EQ(window.whereabouts(key)[0].seq, 7);
    EXPECT_TRUE(window.whereabouts(digest(2)).empty());
    EXPECT_TRUE(window.whereabouts(digest(4)).empty());
}

TEST(LogWindow, AnotherFingerprintIsAConflict) {
    LogWindow window;
    const Digest key = digest(1), fingerprint = digest(9);
    const LogBatch batch{1, {&key, 1}, {&fingerprint, 1}};
    window.take_in(1, {&batch, 1});
    EXPECT_EQ(verdict(window, claim(key, digest(8))), Verdict::conflict);
    EXPECT_EQ(verdict(window, claim(key, fingerprint)), Verdict::duplicate);
    EXPECT_EQ(verdict(window, claim(key)), Verdict::duplicate);
}

TEST(LogWindow, AGenerationIsForgottenOnceItHasExpired) {
    LogWindow window;
    window.begin({.generation = 1});
    take_in(window, 1, 5, digest(1));
    window.next_generation(2);
    take_in(window, 2, 6, digest(2));
    window.forget_before(1);
    EXPECT_EQ(window.size(), 2U);
    window.forget_before(2);
    EXPECT_EQ(verdict(window, claim(digest(1))), Verdict::fresh);
    EXPECT_EQ(verdict(window, claim(digest(2))), Verdict::duplicate);
}

TEST(LogWindow, BeginsWhereTheLogBegins) {
    LogWindow window;
    window.begin({.generation = 4, .floor = 70, .evictions = 1});
    window.begin({.generation = 9, .floor = 90, .evictions = 2});
    EXPECT_EQ(window.position().generation, 4);
    EXPECT_EQ(window.position().last, 70);
    EXPECT_EQ(window.position().evictions, 1);
}

constexpr LogWindow::Position here{.generation = 2, .last = 10, .evictions = 1, .version = 0};
constexpr LogState same{.generation = 2, .floor = 5, .evictions = 1};

TEST(LookVerdict, CompleteWhereNothingWasTakenAwayAndNoMoreIsToRead) {
    EXPECT_EQ(judge(same, here, 0, 32), LookVerdict::complete);
    EXPECT_EQ(judge(same, here, 31, 32), LookVerdict::complete);
    EXPECT_EQ(judge({.generation = 2, .floor = 10, .evictions = 1}, here, 0, 32),
              LookVerdict::complete);
}

TEST(LookVerdict, AFullAnswerMayNotBeAll) {
    EXPECT_EQ(judge(same, here, 32, 32), LookVerdict::more);
}

TEST(LookVerdict, AnotherGenerationHoldsMore) {
    EXPECT_EQ(judge({.generation = 3, .floor = 5, .evictions = 1}, here, 0, 32), LookVerdict::more);
}

// `seq > last` finds nothing there either way.
TEST(LookVerdict, AFloorAboveLastMeansThatUnreadBatchesAreGone) {
    EXPECT_EQ(judge({.generation = 2, .floor = 11, .evictions = 1}, here, 0, 32),
              LookVerdict::gone);
}

TEST(LookVerdict, AnEvictionMeansThatAKnownDigestMayBeNoClaim) {
    EXPECT_EQ(judge({.generation = 2, .floor = 5, .evictions = 2}, here, 0, 32), LookVerdict::gone);
}

TEST(LookVerdict, ALedgerThatIsNotThereHoldsNothing) {
    EXPECT_EQ(judge({}, here, 0, 32), LookVerdict::gone);
}

TEST(LogWindows, WorkersOfAProcessShareOneForEachLedgerAndServer) {
    LogWindows windows;
    const auto one = windows.join("server", 1);
    EXPECT_EQ(windows.join("server", 1), one);
    EXPECT_NE(windows.join("server", 2), one);
    EXPECT_NE(windows.join("the standby that took over", 1), one);
}

// A digest that entered it after the fail-over would be one that only memory knows.
TEST(LogWindows, NobodyJoinsADiscardedOne) {
    LogWindows windows;
    const auto one = windows.join("server", 1);
    windows.discard(one);
    EXPECT_TRUE(one->discarded.load());
    const auto next = windows.join("server", 1);
    EXPECT_NE(next, one);
    take_in(*one, 1, 1, digest(1));
    EXPECT_EQ(verdict(*next, claim(digest(1))), Verdict::fresh);
}

TEST(LogAppend, HoldsTheFirstAndTheLastOffsetOfEachPartition) {
    LogAppend append;
    append.add(claim(digest(1), std::nullopt, 3, 10));
    append.add(claim(digest(2), std::nullopt, 0, 7));
    append.add(claim(digest(3), std::nullopt, 3, 8));
    append.add(claim(digest(4), std::nullopt, 3, 9));
    const Parameters::View view = append.parameters(1).view();
    EXPECT_EQ(view.lengths[1], 20 + 2 * 8) << "two partitions";
    EXPECT_EQ(view.lengths[4], 4 * 16);
    EXPECT_EQ(view.values[5], nullptr) << "no fingerprints";
    append.clear();
    EXPECT_TRUE(append.empty());
}

TEST(LogAppend, ClaimsWithoutAFingerprintAmongOthersHaveZeros) {
    LogAppend append;
    append.add(claim(digest(1)));
    append.add(claim(digest(2), digest(9)));
    append.add(claim(digest(3)));
    const LogBatch batch = append.batch(4);
    ASSERT_EQ(batch.fingerprints.size(), 3U);
    EXPECT_EQ(batch.fingerprints[0], Digest{});
    EXPECT_EQ(batch.fingerprints[1], digest(9));
    EXPECT_EQ(batch.fingerprints[2], Digest{});
}

// It is called before each batch while memory is short.
TEST(LogWindow, TheNextLookForSegmentsIsNeverPutOff) {
    using namespace std::chrono_literals;
    LogWindow window;
    const auto soon = LogWindow::Clock::now() + 100ms;
    window.next_segments_look = soon;
    window.look_for_segments_soon();
    EXPECT_EQ(window.next_segments_look.load(), soon);
    window.next_segments_look = LogWindow::Clock::now() + 1h;
    window.look_for_segments_soon();
    EXPECT_LE(window.next_segments_look.load(), LogWindow::Clock::now() + 1s);
}

}  // namespace
}  // namespace onceward
