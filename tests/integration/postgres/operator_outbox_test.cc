// `onceward outbox`: what waits and who sends it; `explain` tells of a key's records that wait.

#include "schemas/queries.h"
#include "sinks/outbox/outbox_rows.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

class OutboxByHand : public Operator {
  protected:
    void write(const std::string& group, const std::string& topic, const std::string& key) {
        const Digest digest = digest_of({"billing/orders", "", "record_key", key});
        database().execute(
            "INSERT INTO outbox (consumer_group, topic, id, created_at) VALUES ($1, $2, $3, "
            "now() - interval '90 seconds')",
            {group, topic, uuid_text(outbox_id(topic, OutboxPlace::sink, digest))});
    }
};

TEST_F(OutboxByHand, WhatWaitsIsToldByTopicWithTheOldestAndWhoSendsIt) {
    write("billing", "invoices", "k-1");
    write("billing", "invoices", "k-2");
    write("billing", "audit", "k-1");
    write("other", "audit", "k-1");
    const Outcome nobody = run({"outbox", "--group", "billing"});
    EXPECT_EQ(nobody.exit_code, 0) << nobody.output;
    EXPECT_THAT(nobody.output, HasSubstr("group billing: nobody relays"));
    EXPECT_THAT(nobody.output, testing::Not(HasSubstr("other")));
    Connection relay(schema_.worker());
    relay.query(sql::outbox_leader, Parameters{}.text("billing"));
    const nlohmann::json groups = run({"outbox", "--json"}).json();
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0]["group"], "billing");
    EXPECT_EQ(groups[0]["relay"]["pid"], relay.pid());
    EXPECT_TRUE(groups[1]["relay"].is_null());
    const nlohmann::json& topics = groups[0]["topics"];
    ASSERT_EQ(topics.size(), 2U);
    EXPECT_EQ(topics[0]["topic"], "audit");
    EXPECT_EQ(topics[1]["waiting"], 2);
    EXPECT_EQ(topics[1]["or_more"], false);
    EXPECT_GE(topics[1]["oldest_seconds"], 90);
    EXPECT_THAT(run({"outbox"}).output,
                HasSubstr("group billing: relayed by the session " + std::to_string(relay.pid())));
}

TEST_F(OutboxByHand, WhereNothingWaitsItSaysSo) {
    EXPECT_THAT(run({"outbox", "--group", "billing"}).output, HasSubstr("nothing waits"));
    EXPECT_EQ(run({"outbox", "--json"}).json(), nlohmann::json::array());
}

TEST_F(OutboxByHand, ExplainTellsOfAKeysRecordsThatWait) {
    write("billing", "invoices", "k-1");
    write("billing", "invoices", "k-2");
    const std::vector<std::string> question{"explain", "k-1",     "--topic",
                                            "orders",  "--group", "billing"};
    EXPECT_THAT(run(question).output,
                HasSubstr("waits in the outbox of billing for topic invoices since"));
    std::vector<std::string> as_json = question;
    as_json.push_back("--json");
    EXPECT_EQ(run(as_json).json()["outbox"].size(), 1U);
}

}  // namespace
}  // namespace onceward::operator_tests
