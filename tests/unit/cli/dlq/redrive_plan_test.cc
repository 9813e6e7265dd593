// Which dead letters a redrive sends, in which order, and how it reads what the table holds of
// their headers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/dlq/redrive_plan.h"
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Letter letter(std::int64_t number, const std::string& record_key, int redrives = 0,
              const std::string& state = "open") {
    Letter letter;
    letter.number = number;
    letter.offset = Offset{100 - number};
    letter.record_key = record_key;
    letter.redrives = redrives;
    letter.state = state;
    return letter;
}

std::vector<std::int64_t> numbers(const RedrivePlan& plan) {
    std::vector<std::int64_t> numbers;
    for (const Letter& each : plan.letters) numbers.push_back(each.number);
    return numbers;
}

TEST(RedrivePlan, WhatWasSentAgainTooOftenStays) {
    const RedrivePlan plan =
        plan_redrive({letter(1, "a", 4), letter(2, "a", 5), letter(3, "b", 6)}, {.tries_max = 5});
    EXPECT_THAT(numbers(plan), ElementsAre(1));
    EXPECT_EQ(plan.exhausted, 2);
    EXPECT_EQ(plan.behind, 0);
}

TEST(RedrivePlan, WithOrderByKeyALetterThatStaysKeepsItsKey) {
    const RedrivePlan plan = plan_redrive({letter(1, "a"), letter(2, "a", 5), letter(3, "b")},
                                          {.by_key = true, .tries_max = 5});
    EXPECT_THAT(numbers(plan), ElementsAre(3));
    EXPECT_EQ(plan.behind, 1);
}

TEST(RedrivePlan, WithOrderByKeyACopyOfAHotKeyThatStaysKeepsNoKey) {
    std::vector<Letter> letters{letter(1, "a", 5), letter(2, "a")};
    letters[0].error_class = "hot_key";
    const RedrivePlan plan = plan_redrive(letters, {.by_key = true, .tries_max = 5});
    EXPECT_THAT(numbers(plan), ElementsAre(2));
    EXPECT_EQ(plan.exhausted, 1);
    EXPECT_EQ(plan.behind, 0);
}

TEST(RedrivePlan, WithOrderByKeyTheLogsOrderIsKept) {
    // A rewind opened the later of them first.
    EXPECT_THAT(numbers(plan_redrive({letter(1, "a"), letter(2, "a")}, {.by_key = true})),
                ElementsAre(2, 1));
}

TEST(RedrivePlan, WhatWasMarkedBeforeTheClaimsBeginStaysUnlessItMayRepeat) {
    std::vector<Letter> letters{letter(1, "a", 0, "redriving"), letter(2, "b", 0, "resolved"),
                                letter(3, "c", 0, "redriving")};
    letters[0].forgotten = true;
    letters[1].forgotten = true;
    const RedrivePlan careful = plan_redrive(letters, {});
    EXPECT_THAT(numbers(careful), ElementsAre(3));
    EXPECT_EQ(careful.uncertain, 2);
    EXPECT_EQ(careful.forgotten, 2);
    EXPECT_THAT(numbers(plan_redrive(letters, {.may_repeat = true})), ElementsAre(1, 2, 3));
}

TEST(RedrivePlan, WhatMayBeInTheLogIsSentAgainOnlyWhereDedupTellsIt) {
    const std::vector<Letter> letters{letter(1, "a", 0, "redriving"), letter(2, "b")};
    EXPECT_THAT(numbers(plan_redrive(letters, {})), ElementsAre(1, 2));
    const RedrivePlan careful = plan_redrive(letters, {.keys_are_places = true});
    EXPECT_THAT(numbers(careful), ElementsAre(2));
    EXPECT_EQ(careful.uncertain, 1);
    EXPECT_THAT(numbers(plan_redrive(letters, {.keys_are_places = true, .may_repeat = true})),
                ElementsAre(1, 2));
}

// By a copy, a replay or a rewind.
TEST(RedrivePlan, WhatMayBeAppliedAlreadyIsSentAgainOnlyWhereDedupTellsIt) {
    std::vector<Letter> letters{letter(1, "a", 0, "redriven"), letter(2, "b", 0, "resolved"),
                                letter(3, "c"), letter(4, "d")};
    letters[2].sent_before = true;  // and read again since, so that it is open
    EXPECT_THAT(numbers(plan_redrive(letters, {})), ElementsAre(1, 2, 3, 4));
    const RedrivePlan careful = plan_redrive(letters, {.keys_are_places = true});
    EXPECT_THAT(numbers(careful), ElementsAre(4));
    EXPECT_EQ(careful.uncertain, 3);
}

TEST(StoredHeaders, ComeBackAsTheRecordHadThem) {
    const std::string bytes("\0\xff\x01z", 4);
    const std::vector<Header> headers{{"Idempotency-Key", "k"}, {"empty", ""},
                                      {"null", std::nullopt},   {"bytes", bytes},
                                      {"\xff", "four"},         {"Idempotency-Key", "again"}};
    std::vector<StoredHeader> expected;
    for (const Header& header : headers) {
        expected.push_back(
            {std::string(header.name),
             header.value ? std::optional<std::string>(*header.value) : std::nullopt});
    }
    EXPECT_EQ(stored_headers(headers_json(headers)), expected);
    EXPECT_THAT(stored_headers("[]"), IsEmpty());
    EXPECT_THROW(stored_headers("[{\"name\": 1}]"), std::runtime_error);
}

TEST(StoredHeaders, TriesAreCountedByTheHighestNumberAndNothingElse) {
    EXPECT_EQ(redrives_of({}), 0);
    EXPECT_EQ(redrives_of({{redriven_header, "3"}, {redriven_header, "2"}}), 3);
    EXPECT_EQ(redrives_of({{redriven_header, "many"}, {redriven_header, std::nullopt}}), 0);
    EXPECT_EQ(redrives_of({{redriven_header, "-7"}, {"other", "9"}}), 0);
}

}  // namespace
}  // namespace onceward
