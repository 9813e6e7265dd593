// `onceward plan` against a server: what it knows of the group, and how the command ends.

#include "cli/plan/facts.h"

#include "cli/configuration/load.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

using nlohmann::json;
using testing::Contains;

class PlanTest : public Operator {
  protected:
    PlanTest() { schema_.user_table("orders", "id bigint NOT NULL"); }
    ~PlanTest() override {
        for (const std::string& file : files_) std::filesystem::remove(file);
    }
    // A file with one topic, whose options `more` adds to.
    std::string file(const std::string& more, const std::string& table = "orders",
                     const std::string& topic = "orders") {
        files_.push_back(testing::TempDir() + support::unique_name("plan") + ".yaml");
        std::ofstream(files_.back())
            << "group: billing\nkafka: {bootstrap_servers: 'localhost:1'}\npostgres: {dsn: '"
            << schema_.server().worker_dsn << "', schema: " << schema_.name()
            << "}\ntopics:\n  - name: " << topic << "\n    sink: {table: " << schema_.name() << "."
            << table << ", columns: {id: /id}}\n"
            << more;
        return files_.back();
    }
    static Outcome plan(const std::string& next, const std::string& now = "") {
        std::vector<std::string> words{"plan", "-c", next};
        if (!now.empty()) words.insert(words.end(), {"--from", now});
        return onceward(std::move(words));
    }
    // Claims that are in the table as far as its size says.
    void fill(int claims) {
        database().execute("INSERT INTO claims_" + std::to_string(ledger_) +
                           "_1 (digest, record_offset, partition, source) SELECT "
                           "gen_random_uuid(), i, 0, 1 FROM generate_series(1, " +
                           std::to_string(claims) + ") AS i");
    }

    std::vector<std::string> files_;
    std::string key_ = "    ledger: {name: orders}\n    key: {sources: [{field: /id}]}\n";
};

TEST_F(PlanTest, ReadsFencesLedgersAndClaimsOfTheGroup) {
    fence(0, 5);
    fence(1, 5);
    claim(1, "00000000-0000-0000-0000-000000000001", 1);
    const Configuration next = load_configuration(file(key_)).configuration;
    const PlanFacts facts = read_facts(nullptr, next);
    EXPECT_EQ(facts.topics.at("orders").fences, 2);
    EXPECT_THAT(facts.topics.at("orders").ledgers, testing::ElementsAre("orders"));
    EXPECT_EQ(facts.topics.at("orders").sink_problem, "");
    const LedgerFacts& ledger = facts.ledgers.at("orders");
    EXPECT_EQ(ledger.store, "table");
    EXPECT_EQ(ledger.claims, 1);
    EXPECT_TRUE(ledger.counted);
    database().execute("UPDATE fences SET retired_at = now() WHERE partition = 1");
    EXPECT_EQ(read_facts(nullptr, next).topics.at("orders").fences, 1);
    const Outcome same = plan(file(key_));
    EXPECT_EQ(same.exit_code, 0) << same.output;
    EXPECT_THAT(same.output, HasSubstr("nothing: it changes nothing\n"));
}

TEST_F(PlanTest, LargeTablesOfClaimsAreEstimated) {
    fence(0, 5);
    fill(200'000);
    const Outcome outcome = plan(
        file("    ledger: {name: orders}\n    key: {sources: [{field: /id}], tenant: /shop}\n"),
        file(key_));
    EXPECT_EQ(outcome.exit_code, 6);
    const std::string begin = "every key becomes new: about ";
    ASSERT_THAT(outcome.output, HasSubstr(begin));
    const double claims = std::stod(outcome.output.substr(outcome.output.find(begin) +
                                                          begin.size()));
    EXPECT_NEAR(claims, 200'000, 40'000) << outcome.output;
}

TEST_F(PlanTest, TheExitCodeIsThatOfTheWorstConsequence) {
    fence(0, 5);
    const std::string now = file(key_);
    EXPECT_EQ(plan(file(key_), now).exit_code, 0);
    const Outcome safe = plan(file(key_ + "    on_reject: halt\n"), now);
    EXPECT_EQ(safe.exit_code, 0);
    EXPECT_THAT(safe.output, HasSubstr("safe: topic orders: on_reject: "));
    EXPECT_THAT(safe.output, HasSubstr("send it SIGHUP"));
    const Outcome restart =
        plan(file("    ledger: {name: orders, retention: 96h}\n    key: {sources: [{field: "
                  "/id}]}\n"),
             now);
    EXPECT_EQ(restart.exit_code, 5) << restart.output;
    EXPECT_THAT(restart.output, HasSubstr("4d instead of 1d"));
    EXPECT_THAT(restart.output, HasSubstr("a process takes it with a restart"));
    EXPECT_EQ(onceward({"plan", "-c", now, "--from"}).exit_code, 64);
    EXPECT_EQ(plan("/nowhere.yaml").exit_code, 78);
    EXPECT_EQ(plan(now, "/nowhere.yaml").exit_code, 78);
}

TEST_F(PlanTest, ASinkThatDoesNotFitWouldHaltItsTopic) {
    fence(0, 5);
    const Outcome missing = plan(file(key_, "nowhere"));
    EXPECT_EQ(missing.exit_code, 6);
    EXPECT_THAT(missing.output, HasSubstr("danger: topic orders: sink: the topic would halt: "));
    database().execute("ALTER TABLE orders RENAME COLUMN id TO number");
    const Outcome column = plan(file(key_));
    EXPECT_EQ(column.exit_code, 6);
    EXPECT_THAT(column.output, HasSubstr("id"));
}

TEST_F(PlanTest, SaysInJsonWhatATopicLessLeaves) {
    fence(0, 5);
    std::vector<std::string> words{"plan", "-c", file(key_, "orders", "gifts"), "--json"};
    const Outcome outcome = onceward(words);
    EXPECT_EQ(outcome.exit_code, 6);
    const json answer = outcome.json();
    EXPECT_EQ(answer["level"], "danger");
    EXPECT_EQ(answer["compared_with_file"], false);
    const json& worst = answer["consequences"][0];
    EXPECT_EQ(worst["topic"], "orders");
    EXPECT_EQ(worst["reloads"], true);
    EXPECT_THAT(worst["text"].get<std::string>(), HasSubstr("held back by its 1 fence"));
    EXPECT_EQ(answer["consequences"][1]["topic"], "gifts");
    EXPECT_EQ(answer["consequences"][1]["level"], "safe");
}

}  // namespace
}  // namespace onceward::operator_tests
