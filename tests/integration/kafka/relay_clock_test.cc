// A relay whose records Kafka refuses because of their time.

#include "tests/integration/kafka/relay_fixture.h"

namespace onceward::kafka_tests {
namespace {

using testing::HasSubstr;

// Seed 711 of 2026-11-27: a leader whose clock was a day ahead held the outbox for ever, though the
// clocks of the others were right. Here the topic takes no record that is a millisecond old.
TEST_F(RelayTest, ALeaderWhoseTimeKafkaRefusesGivesUpTheLead) {
    const std::string punctual = support::unique_name("punctual");
    scene_.kafka().create_topic(punctual, partitions, {{"message.timestamp.before.max.ms", "0"}});
    RelayOptions mine = options();
    mine.clock_patience = 100ms;
    mine.take_over_every = 1s;
    RunningRelay one(mine);
    ASSERT_TRUE(one.leads());
    mine.take_over_every = 50ms;
    mine.clock_patience = 60s;
    RunningRelay two(mine);
    const CapturedLog log;
    write(numbered("late", 5), "a", punctual);
    ASSERT_TRUE(two.leads());
    EXPECT_EQ(waiting(), 5);
    EXPECT_THAT(log.text(), HasSubstr("Kafka refuses the time of all records"));
}

// One topic in trouble does not stop the others.
TEST_F(RelayTest, ALeaderThatKafkaTakesOtherRecordsFromKeepsTheLead) {
    const std::string punctual = support::unique_name("punctual");
    scene_.kafka().create_topic(punctual, partitions, {{"message.timestamp.before.max.ms", "0"}});
    RelayOptions mine = options();
    mine.clock_patience = 2s;
    RunningRelay relay(mine);
    write({"late"}, "a", punctual);
    ASSERT_TRUE(eventually(patience, [&] { return relay.counts().failed.at(1) > 0; }));
    int sent = 0;
    EXPECT_TRUE(stays(4s, [&] {
        write({"fresh" + std::to_string(++sent)}, "b");
        return relay.counts().restarts == 0;
    }));
    EXPECT_TRUE(eventually(patience, [&] { return waiting() == 1; }));
}

}  // namespace
}  // namespace onceward::kafka_tests
