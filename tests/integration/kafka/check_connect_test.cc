// `check --connect` and `check --sample` on a real broker and a real PostgreSQL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/check/connect.h"
#include "cli/check/sample.h"
#include "dedup/claims/claim_store.h"
#include "dedup/claims/table_store.h"
#include "dedup/fence/fence.h"
#include "dedup/ledger/ledger.h"
#include "dedup/message/digest.h"
#include "lab/embedded/reserved_port.h"
#include "tests/support/kafka.h"
#include "tests/support/old_migrations.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

using support::FreshSchema;
using support::ProducedMessage;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckConnect : public testing::Test {
  protected:
    CheckConnect() { support::kafka().create_topic(topic_, 2, {{"retention.ms", "3600000"}}); }

    // Line 6 is the topic's, line 10 the sink's.
    std::string text() const {
        return "group: " + group_ + "\nkafka:\n  bootstrap_servers: " + servers_ +
               "\npostgres: {dsn: '" + dsn_ + "', schema: " + schema_.name() +
               "}\ntopics:\n  - name: " + topic_ +
               "\n    tombstones: skip\n    key: {sources: [{header: request-id}]}\n"
               "    ledger: {retention: 1h, rotate_after: 10m" +
               ledger_ +
               "}\n"
               "    sink: {table: " +
               table_ + ", columns: {id: /id, amount: " + amount_ + "}}\n";
    }
    Configuration configuration() const {
        LoadResult result = load_configuration_text(text(), "test.yaml");
        EXPECT_TRUE(result.usable()) << (result.findings.empty() ? "" : result.findings[0].message);
        return std::move(result.configuration);
    }
    static ProducedMessage message(const std::string& key, const std::string& payload) {
        return {.partition = 0, .key = {}, .payload = payload, .headers = {{"request-id", key}}};
    }
    std::int64_t rows(const std::string& table) {
        return schema_.database().number("SELECT count(*) FROM " + table);
    }

    // Ten messages, the first four trimmed away; the fence of partition 0 is at `fence`.
    void trimmed_log_with_fence_at(std::int64_t fence) {
        support::kafka().produce(topic_, std::vector(10, message("k", "{}")));
        support::kafka().delete_records(topic_, 0, 4);
        Connection connection(schema_.worker());
        Fences(group_, "test").create(connection, topic_, {{Partition{0}, {Offset{fence}}}}, 0);
    }

    FreshSchema schema_;
    std::string topic_ = support::unique_name("check");
    std::string group_ = support::unique_name("group");
    std::string servers_ = support::kafka_bootstrap_servers();
    std::string dsn_ = schema_.worker().dsn.reveal();
    std::string ledger_;  // further options
    std::string amount_ = "/amount";
    std::string table_ = schema_.user_table("payments", "id text, amount integer");
};

TEST_F(CheckConnect, WhatFitsIsGoodAndNamed) {
    const ConnectResult brokers = check_brokers(configuration());
    EXPECT_THAT(brokers.findings, IsEmpty())
        << (brokers.findings.empty() ? "" : brokers.findings[0].message);
    EXPECT_THAT(brokers.good, testing::Contains(HasSubstr(topic_ + ": 2 partitions")));
    const ConnectResult database = check_database(configuration());
    EXPECT_THAT(database.findings, IsEmpty())
        << (database.findings.empty() ? "" : database.findings[0].message);
    EXPECT_EQ(database.good.size(), 4U);
}

TEST_F(CheckConnect, ATopicThatIsNotThereIsFoundAtItsLine) {
    topic_ = support::unique_name("missing");
    const ConnectResult result = check_brokers(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("know no topic `" + topic_));
    EXPECT_EQ(result.findings[0].mark.line, 6);
}

// Nobody makes it, and the letters would wait in the outbox.
TEST_F(CheckConnect, ATopicForDeadLettersThatIsNotThereIsFound) {
    Configuration with_letters = configuration();
    with_letters.topics[0].dead_letters = LetterTopic{support::unique_name("missing")};
    const ConnectResult result = check_brokers(with_letters);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message,
                HasSubstr("know no topic `" + with_letters.topics[0].dead_letters->topic));
}

TEST_F(CheckConnect, ATopicThatOutlivesItsClaimsIsAWarningAtTheRetention) {
    topic_ = support::unique_name("kept");
    support::kafka().create_topic(topic_, 1, {{"retention.ms", "172800000"}});
    const ConnectResult result = check_brokers(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    const Finding& finding = result.findings[0];
    EXPECT_EQ(finding.severity, Finding::Severity::warning);
    EXPECT_EQ(finding.path, "topics[0].ledger.retention");
    EXPECT_EQ(finding.mark.line, 9);
    EXPECT_THAT(finding.message, HasSubstr("keeps its messages for 2d"));
    EXPECT_THAT(finding.message, HasSubstr("their claims for 1h"));
}

TEST_F(CheckConnect, BrokersThatDoNotAnswerAreOneFinding) {
    const ReservedPort silent;
    servers_ = "127.0.0.1:" + std::to_string(silent.number());
    const ConnectResult result = check_brokers(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("The brokers do not answer"));
}

TEST_F(CheckConnect, AWrongPasswordIsSaidWithoutShowingIt) {
    dsn_ += " password=c4n4ry user=nobody_at_all";
    const ConnectResult result = check_database(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("PostgreSQL says"));
    EXPECT_THAT(result.findings[0].message, testing::Not(HasSubstr("c4n4ry")));
}

TEST_F(CheckConnect, ATableWithoutTheColumnIsTheSinksFinding) {
    schema_.database().execute("ALTER TABLE " + table_ + " DROP COLUMN amount");
    const ConnectResult result = check_database(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].path, "topics[0].sink");
    EXPECT_EQ(result.findings[0].mark.line, 10);
    EXPECT_THAT(result.findings[0].message, HasSubstr("amount"));
}

TEST_F(CheckConnect, AMissingPrivilegeIsNamed) {
    schema_.database().execute("REVOKE UPDATE ON fences FROM " + std::string(support::worker_role));
    const ConnectResult result = check_database(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("lacks UPDATE on"));
    EXPECT_THAT(result.findings[0].message, HasSubstr(".fences"));
}

TEST_F(CheckConnect, ASchemaOfAnotherVersionNamesTheCommand) {
    schema_.database().execute(
        "DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)");
    const ConnectResult result = check_database(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("onceward migrate up"));
}

TEST_F(CheckConnect, ASchemaOfBeforeTheReleaseIsAFinding) {
    schema_.database().execute(support::record_old_migrations(schema_.name()));
    const ConnectResult result = check_database(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("from before the first release"));
}

TEST_F(CheckConnect, OffsetsThatTheLogHasLostAreNamedAndAnError) {
    trimmed_log_with_fence_at(1);
    const ConnectResult result = check_fences(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].severity, Finding::Severity::error);
    EXPECT_EQ(result.findings[0].mark.line, 6);
    EXPECT_THAT(result.findings[0].message, HasSubstr("Partition 0: offsets 1 to 3 are no longer"));
}

TEST_F(CheckConnect, AFenceBehindTheLogsEndIsAnError) {
    trimmed_log_with_fence_at(11);
    const ConnectResult result = check_fences(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("ends at offset 10, below the fence at 11"));
}

TEST_F(CheckConnect, ATopicThatWasMadeAgainIsAnError) {
    trimmed_log_with_fence_at(5);
    EXPECT_THAT(check_fences(configuration()).good, ElementsAre(HasSubstr("all 1 are in")));
    schema_.database().execute("UPDATE fences SET topic_id = 'AAAAAAAAAAAAAAAAAAAAAA'");
    const ConnectResult result = check_fences(configuration());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("was recreated"));
}

TEST_F(CheckConnect, ASampleSaysWhatWouldBecomeOfEachRecordAndWritesNothing) {
    support::kafka().produce(
        topic_, {message("claimed", R"({"id": "a", "amount": 1})"),
                 message("fresh", R"({"id": "b", "amount": 2})"),
                 message("fresh", R"({"id": "b", "amount": 2})"),
                 message("broken", "{"),
                 message("unmappable", R"({"id": "c", "amount": "much"})"),
                 {.partition = 0, .key = {}, .payload = R"({"id": "d"})", .headers = {}},
                 {.partition = 0, .key = {}, .payload = std::nullopt, .headers = {}}});
    Connection connection(schema_.worker());
    LedgerOptions ledger;
    ledger.name = group_ + "/" + topic_;
    const RegisteredLedger registered = register_ledger(connection, ledger, group_, topic_);
    TableStore store(registered.ledger, registered.source);
    const Claim claim{digest_of({ledger.name, "", "header:request-id", "claimed"}), std::nullopt,
                      Partition{1}, Offset{40}};
    OwnedTransaction transaction(connection);
    store.claim(transaction, std::span(&claim, 1));
    transaction.commit();
    const std::int64_t claims = rows("claims_" + std::to_string(registered.ledger) + "_1");

    std::vector<std::string> outcomes;
    std::vector<std::string> reasons;
    for (const SampledRecord& record : sample_records(configuration(), 100).records) {
        outcomes.push_back(record.outcome);
        reasons.push_back(record.reason);
    }
    EXPECT_THAT(outcomes, ElementsAre("duplicate", "applied", "duplicate", "rejected", "rejected",
                                      "rejected", "skipped"));
    EXPECT_THAT(reasons, ElementsAre(HasSubstr("of " + topic_ + "/1@40, applied at"), "",
                                     HasSubstr("of " + topic_ + "/0@1 in this sample"),
                                     HasSubstr("undecodable"), HasSubstr("unmappable"),
                                     HasSubstr("missing_key"), "tombstone"));
    EXPECT_EQ(rows(table_), 0);
    EXPECT_EQ(rows("dead_letters"), 0);
    EXPECT_EQ(rows("fences"), 0);
    EXPECT_EQ(rows("claims_" + std::to_string(registered.ledger) + "_1"), claims);
    EXPECT_FALSE(support::kafka().committed_offset(group_, topic_, 0));
}

TEST_F(CheckConnect, ASampleTakesTheNewestOfEachPartition) {
    std::vector<ProducedMessage> messages;
    for (int i = 0; i < 40; ++i) {
        messages.push_back(message("k" + std::to_string(i), R"({"id": "x", "amount": 1})"));
        messages.back().partition = i % 2;
    }
    support::kafka().produce(topic_, messages);
    std::vector<std::pair<int, std::int64_t>> places;
    for (const SampledRecord& record : sample_records(configuration(), 4).records) {
        places.emplace_back(record.partition, record.offset);
    }
    EXPECT_THAT(places, testing::UnorderedElementsAre(std::pair(0, 18), std::pair(0, 19),
                                                      std::pair(1, 18), std::pair(1, 19)));
}

TEST_F(CheckConnect, ASampleWithRejectedRecordsFailsUnlessSoManyMayBe) {
    support::kafka().produce(topic_, {message("a", R"({"id": "a", "amount": "x"})"),
                                      message("b", R"({"id": "b", "amount": 1})")});
    const auto file = std::filesystem::path(testing::TempDir()) / support::unique_name("check");
    std::ofstream(file) << text();
    const auto exit_code = [&](const std::string& more) {
        const std::string command = std::string(ONCEWARD_EXECUTABLE) + " check --sample 10 -c " +
                                    file.string() + more + " >/dev/null 2>&1";
        return WEXITSTATUS(std::system(command.c_str()));
    };
    EXPECT_EQ(exit_code(""), 65);
    EXPECT_EQ(exit_code(" --max-rejected 1"), 0);
}

TEST_F(CheckConnect, KeysInTwoPartitionsAreCountedWhereThatIsTheReach) {
    const std::string payload = R"({"id": "a", "amount": 1})";
    std::vector<ProducedMessage> messages = {message("a", payload), message("a", payload),
                                             message("b", payload)};
    const auto sample = [&] {
        support::kafka().produce(topic_, messages);
        return sample_records(configuration(), 100);
    };
    ledger_ = ", store: log, reach: partition";
    const ConnectResult none = sample().spread;
    EXPECT_THAT(none.findings, IsEmpty());
    EXPECT_THAT(none.good, ElementsAre(HasSubstr("none of 2 sampled keys was seen in two")));

    messages = {message("b", payload)};
    messages[0].partition = 1;
    const Sample spread = sample();
    EXPECT_EQ(spread.records.back().outcome, "applied") << "it is the first of its partition";
    EXPECT_THAT(spread.spread.good, IsEmpty());
    ASSERT_EQ(spread.spread.findings.size(), 1U);
    const Finding& finding = spread.spread.findings[0];
    EXPECT_EQ(finding.severity, Finding::Severity::warning);
    EXPECT_EQ(finding.mark.line, 9);
    EXPECT_EQ(finding.mark.column, 67);
    EXPECT_THAT(finding.message, HasSubstr("1 of 2 sampled keys were seen in two partitions"));
    EXPECT_THAT(finding.message, HasSubstr("at " + topic_ + "/0@2 and " + topic_ + "/1@0"));

    ledger_ = ", store: log";
    const Sample global = sample_records(configuration(), 100);
    EXPECT_THAT(global.spread.findings, IsEmpty());
    EXPECT_EQ(global.records.back().outcome, "duplicate");
}

}  // namespace
}  // namespace onceward
