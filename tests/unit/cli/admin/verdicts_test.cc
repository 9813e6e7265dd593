#include "cli/admin/verdicts.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// One worker that has all it needs.
ProcessStatus well() {
    Worker::Status status;
    status.connected = true;
    status.joined = true;
    status.partitions = 3;
    status.reading = 3;
    status.poll_limit = 300s;
    ProcessStatus process;
    process.workers.push_back({0, status, ""});
    return process;
}

TEST(Liveness, HoldsWhateverPostgresAndTheGroupSay) {
    ProcessStatus process = well();
    process.draining = true;
    process.workers[0].status->connected = false;
    process.workers[0].status->joined = false;
    process.workers[0].status->halted.push_back(
        {{"orders", Partition{3}}, {.text = "a column is gone"}});
    EXPECT_TRUE(liveness(process).good());
}

TEST(Liveness, EndsWithAReaderThatHasNotPolledForHalfThePollLimit) {
    ProcessStatus process = well();
    process.workers[0].status->since_poll = 150s;
    EXPECT_TRUE(liveness(process).good());
    process.workers[0].status->since_poll = 150s + 1ms;
    EXPECT_THAT(liveness(process).reasons, ElementsAre("worker 0: has not polled for 150 s"));
}

TEST(Liveness, AWorkerThatIsMadeAgainIsAlive) {
    ProcessStatus process = well();
    process.workers[0].status.reset();
    EXPECT_TRUE(liveness(process).good());
}

TEST(Readiness, AMemberWithoutPartitionsIsReady) {
    ProcessStatus process = well();
    EXPECT_THAT(readiness(process).reasons, IsEmpty());
    process.workers[0].status->partitions = 0;
    process.workers[0].status->reading = 0;
    EXPECT_THAT(readiness(process).reasons, IsEmpty());
}

TEST(Readiness, NamesTheServerThatAWorkerDoesNotReach) {
    ProcessStatus process = well();
    process.workers.push_back({1, well().workers[0].status, "", "east"});
    process.workers[1].status->connected = false;
    process.workers[1].status->postgres_failure = "connection refused";
    EXPECT_THAT(readiness(process).reasons,
                ElementsAre("worker 1: database east: connection refused"));
}

TEST(Readiness, SaysWhatEachWorkerLacks) {
    ProcessStatus process = well();
    process.workers[0].status->connected = false;
    process.workers[0].status->postgres_failure = "SQLSTATE 53300: too many connections";
    process.workers.push_back({1, well().workers[0].status, ""});
    process.workers[1].status->joined = false;
    process.workers.push_back({2, std::nullopt, "fenced instance id"});
    EXPECT_THAT(readiness(process).reasons,
                ElementsAre("worker 0: postgres: SQLSTATE 53300: too many connections",
                            "worker 1: kafka: not a member of the group yet",
                            "worker 2: ended, and is being restarted: fenced instance id"));
}

TEST(Readiness, EndsWhereTheRoutesPostgresDoesNotAnswer) {
    ProcessStatus process;
    process.front_door.emplace();
    EXPECT_THAT(readiness(process).reasons, IsEmpty());
    process.front_door->postgres_failure = "connection refused";
    EXPECT_THAT(readiness(process).reasons, ElementsAre("routes: postgres: connection refused"));
}

TEST(Readiness, EndsWithAHaltedPartition) {
    ProcessStatus process = well();
    process.workers[0].status->halted.push_back(
        {{"orders", Partition{3}}, {.text = "a column is gone"}});
    EXPECT_THAT(readiness(process).reasons,
                ElementsAre("partition orders/3 halted: a column is gone"));
}

TEST(Readiness, EndsWithAStalledPartition) {
    ProcessStatus process = well();
    PartitionStatus stalled;
    stalled.partition = {"orders", Partition{3}};
    stalled.phase = PartitionPhase::reading;
    stalled.standing = 61s;
    stalled.reason = "PostgreSQL refuses the batch: 55P03";
    process.workers[0].status->lag.push_back(stalled);
    EXPECT_TRUE(readiness(process).good());
    process.workers[0].status->lag[0].stalled = true;
    EXPECT_THAT(
        readiness(process).reasons,
        ElementsAre("partition orders/3 stalled for 61 s: PostgreSQL refuses the batch: 55P03"));
    EXPECT_TRUE(liveness(process).good());
}

TEST(Readiness, EndsWithTheDrain) {
    ProcessStatus process = well();
    process.draining = true;
    EXPECT_THAT(readiness(process).reasons, ElementsAre("draining"));
}

TEST(VerdictText, IsJsonWhateverBytesAServerSends) {
    EXPECT_EQ(to_json({}), "{\"reasons\":[],\"status\":\"ok\"}\n");
    const auto body = nlohmann::json::parse(to_json({{"caf\xE9 \"closed\""}}));
    EXPECT_EQ(body["status"], "unavailable");
    EXPECT_EQ(body["reasons"].size(), 1U);
}

}  // namespace
}  // namespace onceward
