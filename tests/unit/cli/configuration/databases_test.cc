// Topics on several PostgreSQL servers: what each server's part of a configuration is.

#include "cli/configuration/databases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/configuration/texts.h"

namespace onceward {
namespace {

using test::all_findings;
using test::good_text;
using test::load;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;

// `payments` on the default server, `refunds` and `fees` on `east`.
std::string text(const std::string& east = "") {
    const auto topic = [](const std::string& name, const std::string& more) {
        return "  - name: " + name +
               "\n    key: {preset: idempotency-key}\n    sink: {table: " + name +
               ", columns: {id: /id}}\n    database: east\n" + more;
    };
    return good_text("workers: 3\ndatabases:\n  - name: east\n    dsn: host=east\n" + east) +
           topic("refunds", "    ledger: {name: shared}\n") +
           topic("fees", "    ledger: {name: shared}\n");
}

std::vector<std::string> topics(const Configuration& part) {
    std::vector<std::string> names;
    for (const TopicConfiguration& topic : part.topics) names.push_back(topic.name);
    return names;
}

TEST(Databases, EachHasItsTopicsAndTheirLedgersAndNothingElse) {
    const LoadResult result = load(text());
    ASSERT_TRUE(result.findings.empty()) << all_findings(result);
    const std::vector<Configuration> parts = by_database(result.configuration);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].database, "postgres");
    EXPECT_EQ(parts[0].postgres.dsn.reveal(), "host=localhost");
    EXPECT_THAT(topics(parts[0]), ElementsAre("payments"));
    EXPECT_TRUE(parts[0].ledgers.contains("orders/payments"));
    EXPECT_EQ(parts[0].ledgers.size(), 1U);
    EXPECT_EQ(parts[1].database, "east");
    EXPECT_EQ(parts[1].postgres.dsn.reveal(), "host=east");
    EXPECT_THAT(topics(parts[1]), ElementsAre("refunds", "fees"));
    EXPECT_TRUE(parts[1].ledgers.contains("shared"));
    EXPECT_EQ(parts[1].ledgers.size(), 1U);
    EXPECT_EQ(parts[1].workers, 3);
}

TEST(Databases, RoutesAloneUseTheDefaultServerToo) {
    Configuration whole = load(text()).configuration;
    std::erase_if(whole.topics, [](const auto& topic) { return topic.database == "postgres"; });
    EXPECT_EQ(used_databases(whole).size(), 1U);
    whole.route_sinks[0] = {};
    EXPECT_EQ(by_database(whole).size(), 1U) << "no worker has anything to do there";
    const std::vector<Configuration> parts = used_databases(whole);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].database, "postgres");
    EXPECT_EQ(parts[0].postgres.dsn.reveal(), "host=localhost");
    whole.topics.clear();
    EXPECT_EQ(used_databases(whole).size(), 1U);
}

TEST(Databases, ALedgerIsLookedAfterOnceWhoeverClaimsInIt) {
    Configuration whole = load(text()).configuration;
    const auto names = [&](const std::string& database) {
        std::vector<std::string> found;
        for (const LedgerOptions& ledger : ledgers_on(whole, database))
            found.push_back(ledger.name);
        return found;
    };
    EXPECT_THAT(names("postgres"), ElementsAre("orders/payments"));
    EXPECT_THAT(names("east"), ElementsAre("shared"));
    for (const char* name : {"calls", "requests"}) whole.ledgers[name].name = name;
    whole.route_sinks[0].ledger = "requests";
    whole.route_sinks[1].ledger = "requests";
    whole.route_sinks[2].ledger = "orders/payments";
    whole.route_upstreams[3].ledger = "calls";
    EXPECT_THAT(names("postgres"), ElementsAre("calls", "orders/payments", "requests"));
    EXPECT_THAT(names("east"), ElementsAre("shared"));
    whole.topics.clear();
    EXPECT_THAT(names("postgres"), ElementsAre("calls", "orders/payments", "requests"));
    EXPECT_THAT(names("east"), IsEmpty());
}

TEST(Databases, FindingsNameTheServersOwnPlaceAndTheTopicsInTheWholeFile) {
    const std::vector<Configuration> parts = by_database(load(text()).configuration);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].postgres_path, "postgres");
    EXPECT_EQ(parts[1].postgres_path, "databases[0]");
    EXPECT_EQ(parts[1].postgres_mark.line, 6);
    EXPECT_EQ(parts[1].topics[0].path, "topics[1]");
}

TEST(Databases, ASchemaIsThatOfPostgresUnlessItIsGiven) {
    const auto schema = [](const std::string& east) {
        return by_database(load(text(east)).configuration).at(1).postgres.schema;
    };
    EXPECT_EQ(schema(""), "onceward");
    EXPECT_EQ(schema("    schema: other\n"), "other");
}

TEST(Databases, TheSameServerWithAnotherSchemaIsAnotherOne) {
    const std::string same = "databases:\n  - name: east\n    dsn: 'host=localhost'\n";
    EXPECT_FALSE(load(good_text(same, "    database: east\n")).usable());
    const LoadResult other = load(good_text(same + "    schema: other\n", "    database: east\n"));
    EXPECT_TRUE(other.usable()) << all_findings(other);
}

TEST(Databases, AStaticMemberWithOtherTopicsIsAnotherMember) {
    Configuration whole = load(text()).configuration;
    const auto id = [&](std::size_t part) { return by_database(whole).at(part).kafka.instance_id; };
    EXPECT_EQ(id(1), "");
    whole.kafka.instance_id = "host";
    EXPECT_THAT(id(0), MatchesRegex("host\\.[0-9a-f]+"));
    EXPECT_NE(id(0), id(1));
    const std::string both = id(1);
    std::swap(whole.topics.at(1), whole.topics.at(2));
    EXPECT_EQ(id(1), both) << "their order does not matter";
    whole.topics.pop_back();
    EXPECT_NE(id(1), both);
}

TEST(Databases, AServerWithoutTopicsHasNoPart) {
    const LoadResult result =
        load(good_text("databases:\n  - name: east\n    dsn: host=east\n", "    database: east\n"));
    ASSERT_TRUE(result.usable()) << all_findings(result);
    const std::vector<Configuration> parts = by_database(result.configuration);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].database, "east");
    EXPECT_EQ(database_of(result.configuration, "payments").postgres.dsn.reveal(), "host=east");
}

TEST(Databases, AListIsWanted) {
    const LoadResult result = load(good_text("databases: {east: {dsn: host=east}}\n"));
    EXPECT_NE(all_findings(result).find("is not a list of databases"), std::string::npos)
        << all_findings(result);
}

}  // namespace
}  // namespace onceward
