// `onceward audit --topic` on a real broker and a real PostgreSQL that another consumer writes.

#include "cli/effects/effect_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/configuration/load.h"
#include "cli/operator/broker_view.h"
#include "cli/terminal/exit_code.h"
#include "tests/support/kafka.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

using support::ProducedMessage;
using testing::HasSubstr;

class EffectAuditTest : public testing::Test {
  protected:
    EffectAuditTest() { support::kafka().create_topic(topic_, 1, {}); }

    void send(const std::vector<std::string>& keys) {
        std::vector<ProducedMessage> messages;
        for (const std::string& key : keys) {
            messages.push_back(
                {.partition = 0, .key = {}, .payload = "{}", .headers = {{"request-id", key}}});
        }
        support::kafka().produce(topic_, messages);
    }
    nlohmann::json audit(Offset begin, Offset end, const std::string& column = "key") {
        const std::string text =
            "group: g\nkafka: {bootstrap_servers: " + support::kafka_bootstrap_servers() +
            "}\npostgres: {dsn: '" + schema_.worker().dsn.reveal() + "'}\ntopics:\n  - name: " +
            topic_ + "\n    key: {sources: [{header: request-id}]}\n" +
            "    sink: {table: " + table_ + ", columns: {key: {header: request-id}}}\n";
        LoadResult loaded = load_configuration_text(text, "test.yaml");
        EXPECT_TRUE(loaded.usable());
        Connection connection(loaded.configuration.postgres);
        return audit_effects(connection,
                             {.configuration = loaded.configuration,
                              .topic = loaded.configuration.topics.at(0),
                              .stretches = {{{topic_, Partition{0}}, begin, end}},
                              .table = table_,
                              .column = column,
                              .topic_id = ""});
    }

    support::FreshSchema schema_;
    std::string topic_ = support::unique_name("audit");
    std::string table_ = schema_.user_table("payments", "key text");
};

TEST_F(EffectAuditTest, CountsRepeatsAndTheRowsThatAConsumerMadeOfThem) {
    send({"good", "repeated", "repeated", "lost"});
    schema_.database().execute("INSERT INTO " + table_ +
                               " VALUES ('good'), ('repeated'), ('repeated'), ('other')");
    const nlohmann::json found = audit(Offset{0}, Offset{4});
    EXPECT_EQ(found.at("messages"), 4);
    EXPECT_EQ(found.at("keys"), 3);
    EXPECT_EQ(found.at("sent_again"), 1);
    EXPECT_EQ(found.at("with_one_row"), 1);
    EXPECT_EQ(found.at("sent_again_with_several_rows"), 1);
    EXPECT_EQ(found.at("with_no_row"), 1);
}

TEST_F(EffectAuditTest, ReadsNothingBeyondTheRange) {
    send({"a", "b", "b", "c"});
    const nlohmann::json found = audit(Offset{1}, Offset{3});
    EXPECT_EQ(found.at("messages"), 2);
    EXPECT_EQ(found.at("keys"), 1);
    EXPECT_EQ(audit(Offset{2}, Offset{2}).at("messages"), 0);
}

TEST_F(EffectAuditTest, AColumnThatDoesNotExistIsNamed) {
    try {
        audit(Offset{0}, Offset{0}, "nope");
        ADD_FAILURE() << "nothing was thrown";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("has no column nope"));
    }
}

}  // namespace
}  // namespace onceward
