// `onceward doctor` on a real broker and a real PostgreSQL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "cli/configuration/load.h"
#include "cli/doctor/probes.h"
#include "dedup/fence/fence.h"
#include "lab/embedded/reserved_port.h"
#include "tests/support/kafka.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Doctor : public testing::Test {
  protected:
    Doctor() { support::kafka().create_topic(topic_, 2, {{"retention.ms", "3600000"}}); }

    // A line for each row: `verdict area, name: text`.
    std::vector<std::string> examined(std::chrono::milliseconds limit = 20s) {
        const std::string text =
            "group: " + group_ + "\nkafka:\n  bootstrap_servers: " + servers_ +
            "\nadmin: {listen: off}\npostgres: {dsn: '" + dsn_ + "', schema: " + schema_.name() +
            "}\ntopics:\n  - name: " + topic_ +
            "\n    tombstones: skip\n    key: {sources: [{header: request-id}]}\n"
            "    ledger: {retention: 1h, rotate_after: 10m}\n"
            "    sink: {table: " + table_ + ", columns: {id: /id}}\n";
        LoadResult loaded = load_configuration_text(text, "test.yaml");
        EXPECT_TRUE(loaded.usable()) << findings_json(loaded.findings, "test.yaml");
        const std::vector<ProbeResult> results = examine(loaded.configuration, limit);
        worst_ = worst(results);
        std::vector<std::string> lines;
        for (const ProbeResult& result : results) {
            for (const ProbeRow& row : result.rows) {
                lines.push_back(std::string(to_text(row.verdict)) + " " + result.area + ", " +
                                result.name + ": " + row.text);
            }
        }
        return lines;
    }

    support::FreshSchema schema_;
    std::string topic_ = support::unique_name("doctor");
    std::string group_ = support::unique_name("group");
    std::string servers_ = support::kafka_bootstrap_servers();
    std::string dsn_ = schema_.worker().dsn.reveal();
    std::string table_ = schema_.user_table("payments", "id text");
    ProbeVerdict worst_ = ProbeVerdict::fault;
};

TEST_F(Doctor, WhatFitsIsOkAndSaysWhatWasMeasured) {
    support::kafka().produce(topic_, {{.partition = 0, .key = {}, .payload = "{}", .headers = {}}});
    const std::vector<std::string> lines = examined();
    EXPECT_THAT(lines, Not(Contains(testing::StartsWith("fault"))));
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("ok brokers, broker "),
                                      HasSubstr("answers over PLAINTEXT; knows 1 broker"))));
    EXPECT_THAT(lines, Contains(HasSubstr("topic " + topic_ + ": 2 partitions")));
    EXPECT_THAT(lines, Contains(HasSubstr("its newest record was written ")));
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("server: its clock is"),
                                      HasSubstr("than this machine's"))));
    EXPECT_THAT(lines, Contains(HasSubstr("disk: the database has")));
    EXPECT_THAT(lines, Contains(HasSubstr("dead letters: no dead letter is open")));
}

TEST_F(Doctor, WhatIsNotReachedIsAFaultAndTheOtherAreasAreAsked) {
    const ReservedPort silent;
    const std::string broker = servers_;
    servers_ = "127.0.0.1:" + std::to_string(silent.number());
    std::vector<std::string> lines = examined(3s);
    EXPECT_EQ(worst_, ProbeVerdict::fault);
    EXPECT_THAT(lines, Contains(HasSubstr("fault brokers, bootstrap servers: ")));
    EXPECT_THAT(lines, Contains(HasSubstr("note brokers, the rest: not probed")));
    EXPECT_THAT(lines, Contains(HasSubstr("disk: the database has")));
    servers_ = broker;
    dsn_ = "host=127.0.0.1 port=" + std::to_string(silent.number());
    lines = examined();
    EXPECT_EQ(worst_, ProbeVerdict::fault);
    EXPECT_THAT(lines, Contains(HasSubstr("the rest: not probed")));
    EXPECT_THAT(lines, Contains(HasSubstr("topic " + topic_ + ": 2 partitions")));
}

TEST_F(Doctor, APausedTopicIsAWarningWithItsReason) {
    Connection connection(schema_.worker());
    Fences(group_, "test").create(connection, topic_, {{Partition{0}, {Offset{0}}}}, 0);
    schema_.database().execute(
        "INSERT INTO topic_pauses (consumer_group, topic, reason, paused_by) VALUES ('" + group_ +
        "', '" + topic_ + "', 'a look', 'me')");
    const std::vector<std::string> lines = examined();
    EXPECT_EQ(worst_, ProbeVerdict::warning);
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("warning"), HasSubstr("is paused since"),
                                      HasSubstr("a look"))));
}

TEST_F(Doctor, AFenceThatTheLogHasLostIsAFault) {
    Connection connection(schema_.worker());
    Fences(group_, "test").create(connection, topic_, {{Partition{0}, {Offset{11}}}}, 0);
    const std::vector<std::string> lines = examined();
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("fault"), HasSubstr(", fences: Partition 0"))));
    EXPECT_EQ(worst_, ProbeVerdict::fault);
}

TEST_F(Doctor, ATableThatIsNotThereIsTheFindingOfOneProbe) {
    schema_.database().execute("DROP TABLE dead_letters, fences CASCADE");
    const std::vector<std::string> lines = examined();
    EXPECT_THAT(lines, Contains(HasSubstr("note postgres, dead letters: not probed")));
    EXPECT_THAT(lines, Contains(HasSubstr("note postgres, fences: not probed")));
}

}  // namespace
}  // namespace onceward
