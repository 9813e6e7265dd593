// Which copies of a key are too many: by what was committed, and in bounded memory.

#include "dedup/policy/hot_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/dedup/messages.h"

namespace onceward::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr HotKeyPolicy three{.most = 3, .within = seconds(60)};
constexpr milliseconds now = seconds(6000);

// Messages of one partition, from the offset on, with these keys.
struct Read {
    std::vector<Message> owned;
    Slice slice;

    Read(std::int64_t offset, const std::vector<std::uint8_t>& keys, milliseconds time = now) {
        slice.spans = {span(0, offset, offset + static_cast<std::int64_t>(keys.size()))};
        for (const std::uint8_t key : keys) {
            owned.push_back(message(0, offset++, digest(key)));
            owned.back().record.timestamp = time;
        }
        for (Message& each : owned) slice.messages.push_back(&each);
    }
};

// The offsets that are rejected; the marks end with the call.
std::vector<std::int64_t> rejected(HotKeys& keys, const Slice& slice, milliseconds time = now) {
    const HotMarks marks(keys, slice, time);
    std::vector<std::int64_t> offsets;
    for (const Message* message : slice.messages) {
        if (!message->rejection) continue;
        EXPECT_EQ(message->rejection->kind, Rejection::Kind::hot_key);
        offsets.push_back(message->record.offset.raw());
    }
    return offsets;
}

TEST(HotKeys, TheFirstOnesGoOnAndFurtherCopiesDoNot) {
    HotKeys keys(three);
    Read read(0, {1, 2, 1, 1, 1, 2, 1});
    EXPECT_THAT(rejected(keys, read.slice), ElementsAre(4, 6));
    keys.passed(read.slice, now);
    const Read more(7, {2, 2, 3, 1});
    EXPECT_THAT(rejected(keys, more.slice), ElementsAre(8, 10));
}

TEST(HotKeys, WithoutANumberNothingIsTooOften) {
    HotKeys keys(HotKeyPolicy{});
    const Read read(0, std::vector<std::uint8_t>(100, 1));
    EXPECT_THAT(rejected(keys, read.slice), IsEmpty());
}

TEST(HotKeys, WhatWasNotCommittedIsJudgedAgainAsBefore) {
    HotKeys keys(three);
    Read read(0, {1, 1, 1, 1});
    for (int attempt = 0; attempt < 3; ++attempt) {
        EXPECT_THAT(rejected(keys, read.slice), ElementsAre(3));
        EXPECT_FALSE(read.owned[3].rejection.has_value()) << "a mark ends with its attempt";
    }
}

TEST(HotKeys, InPartsItIsAsInOne) {
    Read read(0, {1, 2, 1, 2, 1, 1, 2, 2});
    HotKeys whole(three);
    EXPECT_THAT(rejected(whole, read.slice), ElementsAre(5, 7));
    HotKeys parts(three);
    std::vector<std::int64_t> all;
    for (const Slice& slice : singles(read.slice)) {
        for (const std::int64_t offset : rejected(parts, slice)) all.push_back(offset);
        parts.passed(slice, now);
    }
    EXPECT_THAT(all, ElementsAre(5, 7));
}

TEST(HotKeys, AWindowIsOfTheMessagesOwnTime) {
    HotKeys keys(three);
    const Read first(0, {1, 1, 1, 1}, seconds(59));
    keys.passed(first.slice, now);
    const Read next(4, {1, 1, 1, 1}, seconds(60));
    EXPECT_THAT(rejected(keys, next.slice), ElementsAre(7));
    keys.passed(next.slice, now);
    const Read late(8, {1, 1, 1, 1}, seconds(59));
    EXPECT_THAT(rejected(keys, late.slice), IsEmpty()) << "that window is over";
}

// From there a wrong clock would keep the key's real copies from being counted.
TEST(HotKeys, TheFutureIsNow) {
    HotKeys keys(three);
    const Read wrong(0, {1}, now + seconds(100'000));
    keys.passed(wrong.slice, now);
    const Read right(1, {1, 1, 1});
    EXPECT_THAT(rejected(keys, right.slice), ElementsAre(3));
    Read without(1, {1, 1, 1});
    for (Message& each : without.owned) each.record.timestamp.reset();
    EXPECT_THAT(rejected(keys, without.slice), ElementsAre(3));
}

TEST(HotKeys, WhatHasNoKeyOrIsRejectedAlreadyStaysAsItIs) {
    HotKeys keys(three);
    Read read(0, {1, 1, 1, 0, 0, 0, 0, 1, 1});
    read.owned[7].rejection = Rejection{Rejection::Kind::unmappable, "no", "", 1};
    read.owned[8].skipped = true;
    {
        const HotMarks marks(keys, read.slice, now);
        EXPECT_FALSE(read.owned[6].rejection.has_value());
        EXPECT_EQ(read.owned[7].rejection->kind, Rejection::Kind::unmappable);
        EXPECT_FALSE(read.owned[8].rejection.has_value());
    }
    EXPECT_TRUE(read.owned[7].rejection.has_value());
}

TEST(HotKeys, AFenceThatWasSetBackCountsNothingTwice) {
    HotKeys keys(three);
    const Read read(0, {1, 1});
    keys.passed(read.slice, now);
    EXPECT_THAT(rejected(keys, read.slice), IsEmpty());
    keys.passed(read.slice, now);
    const Read more(2, {1, 1});
    EXPECT_THAT(rejected(keys, more.slice), ElementsAre(3));
}

// With room for 16 keys and 400 around: never one too many, and a key that is hot indeed is found.
TEST(HotKeys, InBoundedMemoryItMayCountTooFewAndNeverTooMany) {
    constexpr std::size_t room = 16;
    constexpr int messages = 20'000;
    HotKeys keys({.most = 100, .within = seconds(60)}, room);
    std::mt19937 random(7);
    std::map<int, int> exact;
    int found = 0;
    for (int offset = 0; offset < messages; ++offset) {
        const int key = random() % 4 == 0 ? 0 : static_cast<int>(random() % 400) + 1;
        Read read(offset, {1});
        read.owned[0].digest = digest_of_bytes(std::to_string(key));
        const bool hot = !rejected(keys, read.slice).empty();
        keys.passed(read.slice, now);
        ++exact[key];
        if (hot) {
            EXPECT_GT(exact[key], 100);
            ++found;
        }
        const int forgotten = offset / static_cast<int>(room) + 1;
        EXPECT_TRUE(hot || exact[key] <= 100 + forgotten) << exact[key];
    }
    EXPECT_GT(found, messages / 8);
}

}  // namespace
}  // namespace onceward::test
