// I18, and what an operator or a restore changes on purpose, on made-up evidence: each rule speaks
// where it is broken, and nothing where it holds.

#include <gmock/gmock.h>

#include <sstream>

#include "tests/faults/checker/produced_list.h"
#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

constexpr std::int64_t second = 1'000'000;

// The first of two topics is in trouble for a minute. The other one has a message every second.
class InTrouble : public ::testing::Test {
  protected:
    InTrouble() {
        begin_ = run_.clock_us();
        run_.evidence.troubles = {{.topic = 0, .from_us = begin_, .to_us = begin_ + 60 * second}};
    }
    void seconds(int count, bool others_go_on) {
        for (int i = 0; i < count; ++i) {
            run_.clock_us() += second;
            run_.produce(other_, Nature::good, "key " + std::to_string(++keys_));
            if (others_go_on) run_.pass(other_, 100);
        }
    }
    Verdict verdict() { return judge(run_.evidence); }

    RunModel run_{{{.name = "locked"}, {.name = "healthy"}}};
    const PartitionName other_{1, 0};
    std::int64_t begin_ = 0;
    int keys_ = 0;
};

TEST_F(InTrouble, NothingIsFoundWhereTheOtherTopicGoesOn) {
    run_.produce({0, 0}, Nature::good, "waits");
    seconds(70, true);
    run_.pass_all(10);
    EXPECT_TRUE(verdict().violations.empty());
}

TEST_F(InTrouble, AnotherTopicThatStandsStillIsFound) {
    seconds(20, true);
    seconds(15, false);
    seconds(30, true);
    EXPECT_TRUE(holds(verdict(), "I18", "healthy/0"));
}

TEST_F(InTrouble, AnotherTopicWhoseFenceWasNeverMadeIsFound) {
    seconds(65, false);
    run_.pass_all(100);
    EXPECT_TRUE(holds(verdict(), "I18", "healthy/0"));
}

TEST_F(InTrouble, EachFurtherOwnerOfAnotherTopicHasThreeSecondsMore) {
    const auto owners_die = [this](int owners) {
        for (int owner = 0; owner < owners; ++owner) {
            seconds(1, false);
            run_.take(other_);
        }
    };
    seconds(5, true);
    owners_die(4);
    seconds(13, false);
    seconds(5, true);
    EXPECT_TRUE(verdict().violations.empty());
    owners_die(4);
    seconds(16, false);
    seconds(5, true);
    EXPECT_TRUE(holds(verdict(), "I18", "4 owners"));
}

TEST_F(InTrouble, ATopicWithoutMessagesMayStandStill) {
    seconds(20, true);
    run_.clock_us() += 30 * second;
    seconds(20, true);
    EXPECT_TRUE(verdict().violations.empty());
}

TEST_F(InTrouble, TheTopicInTroubleMayStandStill) {
    run_.produce({0, 0}, Nature::good, "first");
    run_.pass({0, 0}, 1);
    run_.produce({0, 0}, Nature::good, "waits");
    seconds(70, true);
    run_.pass_all(10);
    EXPECT_TRUE(verdict().violations.empty());
}

TEST_F(InTrouble, AStandstillAfterTheTroubleIsNotItsMatter) {
    seconds(61, true);
    seconds(40, false);
    run_.pass_all(100);
    EXPECT_TRUE(verdict().violations.empty());
}

TEST_F(InTrouble, AFenceThatMovesAfterItsPartitionsHaveChangedIsFound) {
    seconds(5, true);
    run_.evidence.standstills = {{.topic = 1, .from_us = run_.clock_us() + second / 2}};
    EXPECT_TRUE(verdict().violations.empty());
    seconds(1, true);
    EXPECT_TRUE(holds(verdict(), "I1", "partitions had changed"));
}

class OnPurpose : public ::testing::Test {
  protected:
    // A key that is applied by its first message, and by its second one as well: the model applies
    // two keys, which are one.
    void apply_twice() {
        for (const char* key : {"a", "b"}) {
            run_.produce(place_, Nature::good, key);
            run_.pass(place_, 1);
            run_.evidence.produced.back().key = "a";
            run_.evidence.produced.back().key_kind = "key";
            run_.evidence.effects.back().key = "a";
        }
        // What `forget` takes out.
        run_.evidence.claims.erase(run_.evidence.claims.begin());
    }
    void forget(std::int64_t at_us) {
        run_.evidence.key_commands = {{.what = KeyCommand::What::forgotten,
                                       .key = "a",
                                       .from_us = at_us,
                                       .to_us = at_us}};
    }
    Verdict verdict() { return judge(run_.evidence); }

    RunModel run_{{{.name = "payments"}}};
    const PartitionName place_{0, 0};
};

TEST_F(OnPurpose, AKeyMayBeAppliedOnceMoreAfterItWasForgotten) {
    apply_twice();
    EXPECT_TRUE(holds(verdict(), "I1", "more than one effect"));
    forget(run_.evidence.moves.back().at_us - 5);
    EXPECT_TRUE(verdict().violations.empty());
}

TEST_F(OnPurpose, AKeyThatWasForgottenBeforeBothMayNot) {
    apply_twice();
    forget(1);
    EXPECT_TRUE(holds(verdict(), "I1", "more than one effect"));
}

TEST_F(OnPurpose, AKeyThatWasAppliedAfterItsImportIsFound) {
    run_.produce(place_, Nature::good, "a");
    run_.pass(place_, 1);
    run_.evidence.produced.front().key_kind = "key";
    run_.evidence.key_commands = {
        {.what = KeyCommand::What::imported, .key = "a", .from_us = 1, .to_us = 2}};
    EXPECT_TRUE(holds(verdict(), "I1", "imported"));
    run_.evidence.key_commands.front().what = KeyCommand::What::perhaps_imported;
    EXPECT_TRUE(verdict().violations.empty());
}

TEST_F(OnPurpose, AReplayMovesItsOwnFenceWithWhatItApplies) {
    run_.produce(place_, Nature::good, "a");
    run_.pass(place_, 1);
    constexpr Transaction by_the_replay = 9000;
    run_.evidence.effects.front().transaction = by_the_replay;
    run_.evidence.claims.front().transaction = by_the_replay;
    EXPECT_TRUE(holds(verdict(), "I4", "a row's transaction"));
    run_.evidence.replay_moves = {{.name = place_, .transaction = by_the_replay, .new_next = 1}};
    EXPECT_FALSE(holds(verdict(), "I4"));
}

TEST_F(OnPurpose, ADeadLetterWithAnotherCodeThanTheSinkRaisedIsFound) {
    const std::size_t made = run_.produce(place_, Nature::refused, "a");
    run_.evidence.produced[made].sqlstate = "SH001";
    run_.pass(place_, 1);
    EXPECT_TRUE(holds(verdict(), "I11", "23514, not SH001"));
    run_.evidence.dead_letters.front().sqlstate = "SH001";
    EXPECT_TRUE(verdict().violations.empty());
}

TEST_F(OnPurpose, ASuccessThatAFailOverLostIsNoneAndOneBeforeItIs) {
    Evidence& evidence = run_.evidence;
    evidence.settings.lost_from_us = 100;
    evidence.settings.lost_to_us = 200;
    evidence.requests = {{.key = "k", .body = "1", .status = 204, .sent_us = 110, .ended_us = 120},
                         {.key = "l", .body = "1", .status = 204, .sent_us = 10, .ended_us = 20}};
    excuse_what_was_lost(evidence);
    EXPECT_EQ(evidence.requests[0].status, 0);
    EXPECT_EQ(evidence.requests[1].status, 204);
}

TEST_F(OnPurpose, TheListOfCommandsIsRead) {
    std::istringstream lines(
        R"({"do":"forget","t":"payments","k":"key-7","from":5,"to":6})"
        "\n"
        R"({"do":"import_tried","t":"payments","k":"key-8","from":7,"to":8})"
        "\n");
    read_key_commands(lines, run_.evidence);
    ASSERT_EQ(run_.evidence.key_commands.size(), 2U);
    EXPECT_EQ(run_.evidence.key_commands[0].what, KeyCommand::What::forgotten);
    EXPECT_EQ(run_.evidence.key_commands[1].what, KeyCommand::What::perhaps_imported);
    EXPECT_EQ(run_.evidence.key_commands[1].from_us, 7);
}

}  // namespace
}  // namespace onceward::checker
