// Dead letters that are sent again, through the workers that refused them.

#include "cli/dlq/redrive.h"

#include <gtest/gtest.h>

#include "cli/dlq/redrive_plan.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

class Redriven : public testing::Test {
  protected:
    // Every tenth message is refused.
    Redriven() {
        scene_.database().execute(
            "ALTER TABLE effects ADD CONSTRAINT not_yet CHECK (id % 10 <> 0)");
        options_.topics[0].reject.cap_share = 1.0;
        scene_.start(options_);
        scene_.send(100);
        EXPECT_TRUE(
            eventually(patience, [&] { return letters() == 10 && scene_.applied() == 90; }));
    }
    std::int64_t letters() { return scene_.database().number("SELECT count(*) FROM dead_letters"); }
    void mend() { scene_.database().execute("ALTER TABLE effects DROP CONSTRAINT not_yet"); }
    RedrivePlan plan(const RedriveRules& rules = {}) {
        Connection operators(scene_.schema().owner());
        DeadLetterFilter filter;
        filter.group = scene_.group();
        filter.topic = scene_.topic();
        filter.states = {"open", "redriving"};
        filter.limit = 1000;
        return pick_for_redrive(operators, filter, rules);
    }
    RedriveReport redrive_all(bool by_key = false) {
        Connection operators(scene_.schema().owner());
        RedriveOptions options;
        options.by_key = by_key;
        options.producer = producer_options(options_.kafka);
        options.topic = scene_.topic();
        return redrive(operators, plan().letters, options);
    }
    std::int64_t total(const std::string& column) {
        return scene_.database().number("SELECT sum(" + column + ") FROM fences");
    }

    Scene scene_{{.partitions = 2}};
    WorkerOptions options_ = scene_.options();
};

TEST_F(Redriven, TheyAreAppliedOnceAlsoWhereACrashSendsThemTwice) {
    mend();
    EXPECT_EQ(redrive_all().delivered, 10);
    ASSERT_TRUE(eventually(patience, [&] { return scene_.applied() == 100; }));
    // As a redrive leaves them that ends between Kafka's answer and its mark.
    scene_.database().execute("UPDATE dead_letters SET redriven_at = NULL");
    EXPECT_EQ(redrive_all().delivered, 10);
    ASSERT_TRUE(eventually(patience, [&] { return total("duplicates") == 10; }));
    EXPECT_EQ(scene_.applied(), 100);
    EXPECT_EQ(scene_.database().number("SELECT count(DISTINCT key) FROM effects"), 100);
    EXPECT_EQ(letters(), 10);
}

// As one that was killed between Kafka's answer and its mark, twice, and is run again when the
// claims of the first copies have expired.
TEST_F(Redriven, ALetterThatWasMarkedBeforeTheLedgersMemoryBeganStaysUnlessItMayRepeat) {
    mend();
    EXPECT_EQ(redrive_all().delivered, 10);
    ASSERT_TRUE(eventually(patience, [&] { return scene_.applied() == 100; }));
    scene_.database().execute(
        "UPDATE dead_letters SET redriven_at = NULL; SELECT rotate_ledger(1, 1)");
    EXPECT_EQ(plan().uncertain, 0) << "the second copy would be a duplicate";
    EXPECT_EQ(redrive_all().delivered, 10);
    ASSERT_TRUE(eventually(patience, [&] { return total("duplicates") == 10; }));
    scene_.stop_all();
    scene_.database().execute(
        "UPDATE dead_letters SET redriven_at = NULL; "
        "DELETE FROM generations WHERE generation = 1; DROP TABLE claims_1_1");
    const RedrivePlan late = plan();
    EXPECT_EQ(late.uncertain, 10);
    EXPECT_EQ(late.letters.size(), 0U) << "each would be applied a second time";
    RedriveRules repeating;
    repeating.may_repeat = true;
    EXPECT_EQ(plan(repeating).letters.size(), 10U);
}

// The producer was quicker with a message of the same key that could be applied.
TEST_F(Redriven, OneWhoseKeyWasAppliedMeanwhileIsADuplicate) {
    mend();
    std::vector<support::ProducedMessage> corrected;
    for (int i = 0; i < 100; i += 10) {
        const std::string key = "key-" + std::to_string(i);
        corrected.push_back({i / 10 % 2,
                             std::nullopt,
                             "{\"id\": " + std::to_string(1000 + i) + "}",
                             {{"Idempotency-Key", key}}});
    }
    scene_.kafka().produce(scene_.topic(), corrected);
    ASSERT_TRUE(eventually(patience, [&] { return scene_.applied() == 100; }));
    EXPECT_EQ(redrive_all().delivered, 10);
    ASSERT_TRUE(eventually(patience, [&] { return total("duplicates") == 10; }));
    EXPECT_EQ(scene_.applied(), 100);
    EXPECT_EQ(scene_.database().number("SELECT count(*) FROM effects WHERE id >= 1000"), 10);
}

// The broker takes 1,048,588 bytes where nobody says more, librdkafka by itself 1,000,000.
TEST_F(Redriven, ALargeOneGoesAndOneThatIsTooLargeKeepsNobodyBackButItsRecordKeys) {
    mend();
    const auto pad = [&](int bytes, const std::string& which) {
        scene_.database().execute(
            "UPDATE dead_letters SET payload = convert_to('{\"id\": 1, \"pad\": \"' || "
            "repeat('x', " +
            std::to_string(bytes) + ") || '\"}', 'UTF8') WHERE dead_letter = (SELECT " + which +
            "(dead_letter) FROM dead_letters)");
    };
    pad(2'000'000, "min");
    pad(1'040'000, "max");
    scene_.database().execute("UPDATE dead_letters SET record_key = 'one'");
    const RedriveReport held = redrive_all(true);
    EXPECT_EQ(held.delivered, 0);
    EXPECT_EQ(held.sent, 1) << "the others would be before it";
    EXPECT_NE(held.first_failure.find("dead letter "), std::string::npos) << held.first_failure;
    EXPECT_EQ(held.reopened, 10);
    EXPECT_EQ(
        scene_.database().number("SELECT count(*) FROM dead_letters WHERE resolved_at IS NULL"), 10)
        << "what comes under their key would be before them";
    EXPECT_EQ(redrive_all().delivered, 9);
    EXPECT_TRUE(eventually(patience, [&] { return scene_.applied() == 99; }));
}

TEST_F(Redriven, WhatIsRefusedAgainIsALetterOfItsOwnThatKnowsItsTries) {
    EXPECT_EQ(redrive_all().delivered, 10);
    ASSERT_TRUE(eventually(patience, [&] { return letters() == 20; }));
    Connection operators(scene_.schema().owner());
    DeadLetterFilter filter;
    filter.group = scene_.group();
    filter.states = {"open"};
    filter.limit = 1000;
    const std::vector<Letter> open = select_letters(operators, filter);
    ASSERT_EQ(open.size(), 10U);
    for (const Letter& letter : open) EXPECT_EQ(letter.redrives, 1);
    EXPECT_EQ(plan({.tries_max = 1}).exhausted, 10) << "the loop of refusals would not end";
    EXPECT_TRUE(plan({.tries_max = 1}).letters.empty());
    mend();
    EXPECT_EQ(redrive_all().delivered, 10);
    ASSERT_TRUE(eventually(patience, [&] { return scene_.applied() == 100; }));
}

}  // namespace
}  // namespace onceward::kafka_tests
