// A hand-made violation of each invariant is found. Each test names the rule's own text, so that it
// fails where that rule is gone, even if others speak.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

using testing::IsEmpty;

class Checks : public ::testing::Test {
  protected:
    RunModel run_ = small_run();
    Evidence& evidence_ = run_.evidence;

    void expect(const std::string& invariant, const std::string& part) {
        const Verdict verdict = judge(evidence_);
        EXPECT_TRUE(holds(verdict, invariant, part)) << [&] {
            std::string told;
            for (const Violation& violation : verdict.violations) {
                told += violation.invariant + " " + violation.text + "\n";
            }
            return told;
        }();
    }
    ProducedMessage& produced(const Place& place) {
        return *std::ranges::find(evidence_.produced, place, &ProducedMessage::place);
    }
    Effect& first_effect(int topic) {
        return *std::ranges::find_if(
            evidence_.effects, [&](const Effect& effect) { return effect.place.topic == topic; });
    }
    void remove_claim(const Place& place) {
        std::erase_if(evidence_.claims, [&](const Claim& claim) { return claim.place == place; });
    }
    // The move that passed what was applied there.
    FenceMove& move_of(const Effect& effect) {
        return *std::ranges::find(evidence_.moves, effect.transaction, &FenceMove::transaction);
    }
    DeadLetter& letter_of(Nature nature) {
        return *std::ranges::find_if(evidence_.dead_letters, [&](const DeadLetter& letter) {
            return produced(letter.place).nature == nature;
        });
    }
};

TEST_F(Checks, FindNothingInACleanRun) {
    const Verdict verdict = judge(evidence_);
    for (const Violation& violation : verdict.violations) {
        ADD_FAILURE() << violation.invariant << " " << violation.text << ": "
                      << violation.where.at(0);
    }
    EXPECT_THAT(verdict.problems, IsEmpty());
    EXPECT_THAT(verdict.unchecked, IsEmpty());
    EXPECT_GT(verdict.numbers.applied, 0);
    EXPECT_GT(verdict.numbers.duplicates, 0);
    EXPECT_EQ(verdict.numbers.conflicts, 1);
    EXPECT_GT(verdict.numbers.dead_letters, 0);
    EXPECT_GT(verdict.numbers.skipped, 0);
    EXPECT_EQ(verdict.numbers.messages, verdict.numbers.applied + verdict.numbers.duplicates +
                                            verdict.numbers.conflicts +
                                            verdict.numbers.dead_letters + verdict.numbers.skipped);
    EXPECT_EQ(verdict.numbers.lost, 0);
    EXPECT_EQ(verdict.numbers.twice, 0);
}

TEST_F(Checks, I1FindAKeyWithoutItsEffect) {
    const Effect lost = first_effect(3);
    std::erase_if(evidence_.effects, [&](const Effect& effect) { return effect.id == lost.id; });
    expect("I1", "of which a message could be applied has no effect");
    EXPECT_EQ(judge(evidence_).numbers.lost, 1);
}
TEST_F(Checks, I1FindAKeyThatWasAppliedTwiceInTwoTopics) {
    // A duplicate of the other topic is applied as well.
    const auto duplicate = std::ranges::find_if(evidence_.produced, [&](const auto& message) {
        return message.place.topic == 1 &&
               std::ranges::find(evidence_.effects, message.place, &Effect::place) ==
                   evidence_.effects.end();
    });
    evidence_.effects.push_back({.id = duplicate->id, .place = duplicate->place, .landed = 9999});
    expect("I1", "more than one effect");
    EXPECT_EQ(judge(evidence_).numbers.twice, 1);
}
TEST_F(Checks, I1FindARowThatIsThereTwice) {
    evidence_.effects.push_back(first_effect(0));
    expect("I1", "more than one effect");
}
TEST_F(Checks, I1FindAGoodMessageAmongTheDeadLetters) {
    const Effect effect = first_effect(0);
    std::erase_if(evidence_.effects, [&](const Effect& other) { return other.id == effect.id; });
    DeadLetter letter = evidence_.dead_letters[0];
    letter.place = effect.place;
    evidence_.dead_letters.push_back(letter);
    expect("I1", "must not become");
}
TEST_F(Checks, I1FindPoisonThatWasApplied) {
    const Place place = letter_of(Nature::undecodable).place;
    std::erase_if(evidence_.dead_letters, [&](const auto& other) { return other.place == place; });
    evidence_.effects.push_back({.id = produced(place).id, .place = place});
    expect("I1", "must not become");
}
TEST_F(Checks, I1FindAConflictThatPassedForADuplicateAndTheReverse) {
    const auto conflict = std::ranges::find_if(evidence_.dead_letters, [&](const auto& letter) {
        return produced(letter.place).fingerprint == "other";
    });
    ProducedMessage& message = produced(conflict->place);
    message.fingerprint = "same";
    expect("I1", "is dead letter");
    message.fingerprint = "other";
    evidence_.dead_letters.erase(conflict);
    expect("I1", "is duplicate");
}
TEST_F(Checks, I1FindAMessageInTwoPlaces) {
    DeadLetter letter = evidence_.dead_letters[0];
    letter.place = first_effect(3).place;
    evidence_.dead_letters.push_back(letter);
    expect("I1", "in two places");
}
TEST_F(Checks, I1FindARowOfAnAbortedMessage) {
    const auto aborted = std::ranges::find_if(evidence_.produced,
                                              [](const auto& message) { return message.aborted; });
    evidence_.effects.push_back({.id = aborted->id, .place = aborted->place});
    expect("I1", "of no committed message");
}
TEST_F(Checks, I1FindARowWithAnotherMessageOrKey) {
    first_effect(0).id = 9999;
    expect("I1", "does not hold the message that is at its place");
    first_effect(3).key = "cut";
    expect("I1", "holds another key");
}
TEST_F(Checks, I1FindAnUpsertsRowThatIsNotTheLast) {
    Effect& row = first_effect(2);
    const auto older = std::ranges::find_if(evidence_.produced, [&](const auto& message) {
        return message.place.topic == 2 && message.target == row.target && message.id != row.id;
    });
    row.id = older->id;
    row.place = older->place;
    row.key = older->key;
    expect("I1", "not that of a last applied message");
}
TEST_F(Checks, I1FindAnUpsertsKeyThatWasClaimedTwice) {
    const auto duplicate = std::ranges::find_if(evidence_.produced, [&](const auto& message) {
        return message.place.topic == 2 &&
               std::ranges::find(evidence_.claims, message.place, &Claim::place) ==
                   evidence_.claims.end();
    });
    evidence_.claims.push_back({.place = duplicate->place});
    expect("I1", "more than one effect");
}

TEST_F(Checks, I2FindAKafkaOffsetBeyondTheFence) {
    ++evidence_.committed[0].offset;
    expect("I2", "committed to Kafka");
    evidence_.settings.committed_offset_moved = true;
    EXPECT_FALSE(holds(judge(evidence_), "I2"));
}
TEST_F(Checks, I2FindAChainThatIsBroken) {
    move_of(first_effect(0)).old_owner = "another";
    expect("I2", "from where its owner had not left it");
}
TEST_F(Checks, I2FindAChainThatDoesNotEndAtTheFence) {
    evidence_.fences[0].owner = "another";
    expect("I2", "at its end");
}
TEST_F(Checks, I2FindAMoveThatTakesTheFenceAsWell) {
    FenceMove& move = move_of(first_effect(0));
    move.new_owner = "another";
    expect("I2", "moved and taken in one step");
}
TEST_F(Checks, I2FindAFenceThatMovedBack) {
    FenceMove& move = move_of(evidence_.effects.back());
    move.new_next = move.old_next - 1;
    expect("I2", "moved back");
}
TEST_F(Checks, I2FindAMoveWithoutItsRows) {
    const Effect lost = first_effect(0);
    first_effect(0).transaction = 1;
    expect("I2", "without the rows of what it counts");
}

TEST_F(Checks, I3FindAPassedMessageThatIsNowhere) {
    const Effect lost = first_effect(0);
    std::erase_if(evidence_.effects, [&](const Effect& effect) { return effect.id == lost.id; });
    expect("I3", "in no place");
}
TEST_F(Checks, I3FindARowThatNoFenceHasPassed) {
    evidence_.fences[0].next_offset = 2;
    expect("I3", "no fence has passed it");
}
TEST_F(Checks, I3FindAFenceBehindTheEndOfTheLog) {
    ++evidence_.fences[0].next_offset;
    expect("I3", "after the log's end");
}
TEST_F(Checks, I3TakeASkippedRangeForAnAnswer) {
    const Effect lost = first_effect(3);
    std::erase_if(evidence_.effects, [&](const Effect& effect) { return effect.id == lost.id; });
    remove_claim(lost.place);
    evidence_.skipped.push_back(
        {.name = lost.place.in(), .begin = lost.place.offset, .end = lost.place.offset + 1});
    const Verdict verdict = judge(evidence_);
    EXPECT_FALSE(holds(verdict, "I1"));
    EXPECT_FALSE(holds(verdict, "I3"));
}

TEST_F(Checks, I4FindARowWhoseTransactionDidNotMoveTheFence) {
    first_effect(0).transaction = 5;
    expect("I4", "a row's transaction");
}
TEST_F(Checks, I4FindAClaimWhoseTransactionDidNotMoveTheFence) {
    evidence_.claims[3].transaction = 5;
    expect("I4", "a claim's transaction");
}
TEST_F(Checks, I4FindADeadLetterWhoseTransactionDidNotMoveTheFence) {
    evidence_.dead_letters[0].transaction = 5;
    expect("I4", "a dead letter's transaction");
}

TEST_F(Checks, I5FindASessionThatMovesTheFenceOfAnother) {
    ++move_of(first_effect(0)).session;
    expect("I5", "session that had not taken it");
}
TEST_F(Checks, I5FindAnOwnerThatComesBack) {
    std::vector<FenceMove*> taken;
    for (FenceMove& move : evidence_.moves) {
        if (move.name == PartitionName{0, 1} && move.old_owner != move.new_owner) {
            taken.push_back(&move);
        }
    }
    ASSERT_EQ(taken.size(), 3u);  // made, taken twice
    taken[2]->new_owner = taken[0]->new_owner;
    expect("I5", "holds it again");
}
TEST_F(Checks, I5FindATakeOverThatDidNotRaiseTheEpoch) {
    evidence_.moves[1].new_epoch = evidence_.moves[1].old_epoch;
    expect("I5", "did not raise the epoch");
}

TEST_F(Checks, I6FindAnEffectWithoutAClaim) {
    remove_claim(first_effect(0).place);
    expect("I6", "an effect has no claim");
}
TEST_F(Checks, I6FindAClaimWithoutAnEffect) {
    const Effect lost = first_effect(0);
    std::erase_if(evidence_.effects, [&](const Effect& effect) { return effect.id == lost.id; });
    expect("I6", "a claim has no effect");
}
TEST_F(Checks, I6FindClaimAndEffectOfTwoTransactions) {
    first_effect(0).transaction = 5;
    expect("I6", "different transactions");
}
TEST_F(Checks, I6FindTwoClaimsOfAMessageAndOfADigest) {
    evidence_.claims.push_back(evidence_.claims[0]);
    expect("I6", "a message has two claims");
    expect("I6", "the same digest");
}
TEST_F(Checks, I6FindAClaimOfNoMessage) {
    evidence_.claims.push_back({.place = {0, 0, 9999}});
    expect("I6", "a claim is that of no committed message");
}

TEST_F(Checks, I7FindWhatTheFenceKeptAndTheFailOverLost) {
    evidence_.settings.failed_over = true;
    EXPECT_THAT(judge(evidence_).violations, IsEmpty());
    const Effect lost = first_effect(0);
    std::erase_if(evidence_.effects, [&](const Effect& effect) { return effect.id == lost.id; });
    expect("I7", "in no place");
}
TEST_F(Checks, I7FindAFenceThatWentBackFurtherThanTheRows) {
    evidence_.settings.failed_over = true;
    evidence_.fences[0].next_offset = 2;
    expect("I7", "further than the rows");
}

TEST_F(Checks, I11FindADeadLetterThatWasChanged) {
    evidence_.dead_letters[0].content.headers.pop_back();
    expect("I11", "differs from what was produced");
}
TEST_F(Checks, I11FindAPayloadThatWasCutAtNul) {
    DeadLetter& letter = evidence_.dead_letters[0];
    evidence_.contents[letter.place].payload = std::string("a\0b", 3);
    letter.content.payload = "a";
    expect("I11", "differs from what was produced");
}
TEST_F(Checks, I11FindADeadLetterThatIsIncomplete) {
    letter_of(Nature::undecodable).has_timestamp = false;
    expect("I11", "lacks its timestamp");
    letter_of(Nature::refused).sqlstate = "";
    expect("I11", "lacks its SQLSTATE");
    letter_of(Nature::without_key).error_class = "";
    expect("I11", "lacks its error class");
}
TEST_F(Checks, I11FindTwoDeadLettersOfAMessage) {
    evidence_.dead_letters.push_back(evidence_.dead_letters[0]);
    expect("I11", "two dead letters");
}
TEST_F(Checks, I11FindADeadLetterOfNoMessage) {
    evidence_.dead_letters[0].place.offset = 9999;
    expect("I11", "a dead letter is that of no committed message");
}
TEST_F(Checks, I11FindADeadLetterThatIsMissing) {
    const Place place = letter_of(Nature::without_key).place;
    std::erase_if(evidence_.dead_letters, [&](const auto& other) { return other.place == place; });
    expect("I11", "must be rejected has no dead letter");
    EXPECT_EQ(judge(evidence_).numbers.lost, 1);
}
TEST_F(Checks, I11FindABadPayloadWithoutADeadLetterUnlessItsKeyIsKnownWithoutDecodingIt) {
    const Place place = letter_of(Nature::undecodable).place;
    std::erase_if(evidence_.dead_letters, [&](const auto& other) { return other.place == place; });
    expect("I11", "must be rejected has no dead letter");
    evidence_.topics[0].key_in_payload = false;
    produced(place).fingerprint = "same";
    EXPECT_FALSE(holds(judge(evidence_), "I11", "must be rejected has no dead letter"));
    EXPECT_FALSE(holds(judge(evidence_), "I1", "must not become"));
    produced(place).key = "of no other";
    expect("I11", "must be rejected has no dead letter");
}

TEST_F(Checks, I12FindAPartitionThatStandsStill) {
    run_.produce({0, 0}, Nature::good, "late");
    expect("I12", "messages wait");
    evidence_.halted.push_back({.name = {0, 0}, .said = false});
    expect("I12", "messages wait");
    evidence_.halted[0].said = true;
    EXPECT_THAT(judge(evidence_).violations, IsEmpty());
}
TEST_F(Checks, I12FindAPartitionThatNobodyTook) {
    run_.produce({0, 7}, Nature::good, "alone");
    expect("I12", "payments/7");
}
TEST_F(Checks, I12TakeControlRecordsForNoLag) {
    run_.abort({0, 0});
    EXPECT_THAT(judge(evidence_).violations, IsEmpty());
}

TEST_F(Checks, I14FindASecret) {
    evidence_.secrets.push_back({"worker-1.log", 17});
    expect("I14", "worker-1.log:17");
}

TEST_F(Checks, I15FindRowsOutOfTheOrderOfOffsets) {
    Effect& first = first_effect(3);
    const auto second = std::ranges::find_if(evidence_.effects, [&](const Effect& effect) {
        return effect.place.in() == first.place.in() && effect.id != first.id;
    });
    std::swap(first.landed, second->landed);
    expect("I15", "landed after");
}

TEST_F(Checks, I16FindTotalsThatDoNotAddUp) {
    ++evidence_.fences[0].totals.duplicates;
    expect("I16", "do not add up");
}
TEST_F(Checks, I16FindAnOutcomeThatWasCountedAsAnother) {
    ++evidence_.fences[0].totals.duplicates;
    --evidence_.fences[0].totals.applied;
    expect("I16", "not what became of its messages");
}
TEST_F(Checks, I16FindAMoveThatCountedWrong) {
    FenceMove& move = move_of(first_effect(0));
    ++move.counted.duplicates;
    expect("I16", "a move's counts");
    move.counted.duplicates -= 1;
    ++move.counted.skipped;
    --move.counted.applied;
    expect("I16", "not the sum of its moves");
}

TEST_F(Checks, TakeCompactedMessagesForPassedOrNot) {
    evidence_.topics[3].compacted = true;
    PartitionLog& log = *std::ranges::find(evidence_.log, PartitionName{3, 0}, &PartitionLog::name);
    std::erase_if(log.records, [](const LogRecord& record) { return record.offset % 3 == 0; });
    EXPECT_THAT(judge(evidence_).violations, IsEmpty());
    EXPECT_THAT(judge(evidence_).problems, IsEmpty());
}
TEST_F(Checks, TakeDeletedMessagesForPassed) {
    PartitionLog& log = *std::ranges::find(evidence_.log, PartitionName{3, 0}, &PartitionLog::name);
    log.begin = 20;
    std::erase_if(log.records, [](const LogRecord& record) { return record.offset < 20; });
    EXPECT_THAT(judge(evidence_).violations, IsEmpty());
}
TEST_F(Checks, CallItAProblemWhenTheBrokerLostAMessageOrHasAForeignOne) {
    evidence_.log[0].records.pop_back();
    EXPECT_FALSE(judge(evidence_).problems.empty());
    evidence_ = small_run().evidence;
    evidence_.log[0].records[0].id = 9999;
    EXPECT_FALSE(judge(evidence_).problems.empty());
}
TEST_F(Checks, SayWhatTheyCannotSeeWithoutTheAudit) {
    evidence_.settings.audited = false;
    evidence_.moves.clear();
    EXPECT_THAT(judge(evidence_).violations, IsEmpty());
    EXPECT_FALSE(judge(evidence_).unchecked.empty());
}

}  // namespace
}  // namespace onceward::checker
