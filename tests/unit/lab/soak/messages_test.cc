#include "lab/soak/messages.h"

#include <gtest/gtest.h>

#include <set>

#include "lab/soak/emptied_sink.h"

namespace onceward::soak {
namespace {

constexpr std::int64_t some = 20'000;

TEST(SoakMessages, OneOfTenRepeatsOneOfThoseShortlyBefore) {
    const Messages messages(5'000);
    std::int64_t repeats = 0, elsewhere = 0;
    for (std::int64_t number = 0; number < some; ++number) {
        const std::int64_t original = messages.original(number);
        if (original == number) continue;
        ++repeats;
        EXPECT_FALSE(messages.is_repeat(original));
        EXPECT_LT(original, number);
        EXPECT_GT(original, number - 5'100);
        if (partition_of(original) != partition_of(number)) ++elsewhere;
    }
    EXPECT_NEAR(static_cast<double>(repeats), some / 10, some / 100);
    EXPECT_NEAR(static_cast<double>(elsewhere), static_cast<double>(repeats) * 3 / 4, some / 100);
}
TEST(SoakMessages, HaveAKeyOfTheirOwnAndTheirSize) {
    std::set<std::string> keys;
    for (std::int64_t number = 0; number < 1'000; ++number) keys.insert(key_of(number));
    EXPECT_EQ(keys.size(), 1'000);
    EXPECT_EQ(payload(1, {}).size(), 374);
    EXPECT_EQ(payload(269'999'999, {}).size(), 374);
}

// All rows of so many messages, repeats left out.
Count taken(const Messages& messages, Seen& seen, std::int64_t sent) {
    Count count;
    count.produced = sent;
    for (std::int64_t number = 0; number < sent; ++number) {
        if (messages.is_repeat(number))
            ++count.duplicates;
        else
            seen.add(number, sent, count);
    }
    return count;
}

TEST(SoakRows, ThatAreAllThereOnceAreGood) {
    const Messages messages(1'000);
    Seen seen(messages);
    Count count = taken(messages, seen, some);
    count.lost = seen.lost(some);
    EXPECT_TRUE(count.good()) << to_text(count);
}
TEST(SoakRows, ARowThatComesASecondTimeIsFoundAtAnyDistance) {
    const Messages messages(1'000);
    Seen seen(messages);
    Count count = taken(messages, seen, some);
    seen.add(1, some, count);
    EXPECT_EQ(count.twice, 1);
}
TEST(SoakRows, ARowThatIsMissingIsFound) {
    const Messages messages(1'000);
    Seen seen(messages);
    taken(messages, seen, some);
    std::int64_t sent = some;
    while (messages.is_repeat(sent)) ++sent;
    EXPECT_EQ(seen.lost(some), 0);
    EXPECT_EQ(seen.lost(sent + 1), 1);
}
TEST(SoakRows, OfARepeatOrOfNoMessageAreFound) {
    const Messages messages(1'000);
    Seen seen(messages);
    Count count;
    std::int64_t repeat = 200;
    while (!messages.is_repeat(repeat)) ++repeat;
    seen.add(repeat, some, count);
    seen.add(some, some, count);
    seen.add(-1, some, count);
    EXPECT_EQ(count.unknown, 3);
}

}  // namespace
}  // namespace onceward::soak
