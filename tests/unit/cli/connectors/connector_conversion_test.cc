#include "cli/connectors/connector_conversion.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* confluent = "io.confluent.connect.jdbc.JdbcSinkConnector";
constexpr const char* debezium = "io.debezium.connector.jdbc.JdbcSinkConnector";

// Each has a class, an address and a topic.
ConnectorPlan plan_of(const nlohmann::json& options, const char* connector_class = confluent) {
    nlohmann::json all = {{"connector.class", connector_class},
                          {"connection.url", "jdbc:postgresql://db/shop"},
                          {"topics", "orders"}};
    all.update(options);
    return convert_connector(read_connector(all.dump()));
}

std::string text_of(const nlohmann::json& options, const char* connector_class = confluent) {
    return configuration_text(plan_of(options, connector_class));
}

bool is_noted(const ConnectorPlan& plan, const std::string& option) {
    return std::ranges::any_of(plan.notes, [&](const auto& note) { return note.option == option; });
}

std::string refusal(const std::string& text) {
    try {
        convert_connector(read_connector(text));
    } catch (const ConnectorError& error) {
        return error.what();
    }
    return "";
}

TEST(ConnectorConversion, TakesOverTheConnectorsConsumerGroup) {
    const std::string text = configuration_text(convert_connector(read_connector(
        R"({"name": "sink",
            "config": {"connector.class": "a.JdbcSinkConnector", "topics": "t"}})")));
    EXPECT_THAT(text, HasSubstr("\ngroup: connect-sink\n"));
    EXPECT_THAT(text, HasSubstr("start: committed"));
}

TEST(ConnectorConversion, CopiesNoPassword) {
    const ConnectorPlan plan =
        plan_of({{"connection.url", "jdbc:postgresql://db:5433/shop?user=u&password=hidden"},
                 {"connection.password", "secret"}});
    EXPECT_EQ(plan.dsn, "host=db port=5433 dbname=shop user=u password=${ONCEWARD_PASSWORD}");
    EXPECT_THAT(configuration_text(plan), Not(HasSubstr("hidden")));
    EXPECT_THAT(configuration_text(plan), Not(HasSubstr("secret")));
}

TEST(ConnectorConversion, KnowsAddressesOfSeveralServers) {
    EXPECT_EQ(plan_of({{"connection.url", "jdbc:postgresql://a:1,b/shop?sslmode=verify-full"}}).dsn,
              "host=a,b port=1,5432 dbname=shop sslmode=verify-full");
    EXPECT_EQ(plan_of({{"connection.url", "jdbc:postgresql:shop"}}).dsn, "dbname=shop");
}

TEST(ConnectorConversion, RefusesWhatIsNoSinkIntoPostgres) {
    EXPECT_THAT(refusal(R"({"connector.class": "io.debezium.connector.mysql.MySqlConnector"})"),
                HasSubstr("Only JDBC sinks can be converted"));
    EXPECT_THAT(refusal(R"({"connector.class": "a.JdbcSinkConnector", "topics": "t",
                            "connection.url": "jdbc:mysql://db:3306/shop?password=secret"})"),
                testing::AllOf(HasSubstr("`jdbc:mysql:`"), Not(HasSubstr("secret"))));
    EXPECT_THAT(refusal(""), HasSubstr("empty"));
    EXPECT_THAT(refusal("{"), HasSubstr("not a JSON object"));
    EXPECT_THAT(refusal("just words"), HasSubstr("neither JSON nor properties nor YAML"));
    EXPECT_THAT(refusal(R"({"connector.class": ["a"]})"), HasSubstr("no text, number"));
}

TEST(ConnectorConversion, NamesTablesAsTheConnectorDoes) {
    EXPECT_EQ(plan_of({{"topics", "Orders"}}).topics[0].table, "Orders");
    EXPECT_EQ(plan_of({{"topics", "shop.Orders"}}, debezium).topics[0].table, "shop_orders");
    EXPECT_EQ(plan_of({{"topics", "a.b.c"},
                       {"collection.name.format", "${source.schema}.${source.table}"}},
                      debezium)
                  .topics[0]
                  .table,
              "b.c");
    EXPECT_EQ(plan_of({{"table.name.format", "kafka_${topic}"}}).topics[0].table, "kafka_orders");
    EXPECT_EQ(plan_of({{"connection.url", "jdbc:postgresql://db/shop?currentSchema=sales"}})
                  .topics[0]
                  .table,
              "sales.orders");
}

TEST(ConnectorConversion, FollowsRoutersOfTopics) {
    EXPECT_EQ(plan_of({{"topics", "shop.public.orders"},
                       {"transforms", "r"},
                       {"transforms.r.type", "org.apache.kafka.connect.transforms.RegexRouter"},
                       {"transforms.r.regex", "[^.]+\\.[^.]++\\.(.*)"},
                       {"transforms.r.replacement", "t_$1"}})
                  .topics[0]
                  .table,
              "t_orders");
}

TEST(ConnectorConversion, MakesTopicsOfAPatternThatIsAList) {
    const ConnectorPlan plan = plan_of({{"topics", ""}, {"topics.regex", "^shop\\.(a|b)$"}});
    ASSERT_EQ(plan.topics.size(), 2U);
    EXPECT_EQ(plan.topics[1].name, "shop.b");
    EXPECT_FALSE(is_noted(plan, "topics.regex"));
    EXPECT_TRUE(is_noted(plan_of({{"topics", ""}, {"topics.regex", "shop.*"}}), "topics.regex"));
}

TEST(ConnectorConversion, MakesColumnsOfListedRenamedAndInsertedFields) {
    const ConnectorPlan plan =
        plan_of({{"fields.whitelist", "id, price"},
                 {"transforms", "n,i"},
                 {"transforms.n.type", "org.apache.kafka.connect.transforms.ReplaceField$Value"},
                 {"transforms.n.renames", "cost:price"},
                 {"transforms.i.type", "org.apache.kafka.connect.transforms.InsertField$Value"},
                 {"transforms.i.static.field", "source"},
                 {"transforms.i.static.value", "it's $5"},
                 {"transforms.i.offset.field", "at_offset!"}});
    const std::string text = configuration_text(plan);
    EXPECT_THAT(text, HasSubstr("        id: /id\n        price: /cost\n"));
    EXPECT_THAT(text, HasSubstr("at_offset: {metadata: offset}\n"));
    EXPECT_THAT(text, HasSubstr("source: {constant: \"it's $$5\"}\n"));
}

TEST(ConnectorConversion, AnUpsertHasItsKeysAsConflictTarget) {
    const std::string text = text_of({{"insert.mode", "upsert"}, {"pk.mode", "kafka"}});
    EXPECT_THAT(text, HasSubstr("conflict_target: [__connect_topic, __connect_partition, "
                                "__connect_offset]"));
    EXPECT_THAT(text, HasSubstr("__connect_offset: {metadata: offset, required: true}"));
}

TEST(ConnectorConversion, TombstonesDeleteWhereTheRecordKeyIsTheRowsKey) {
    const std::string text =
        text_of({{"insert.mode", "upsert"},
                 {"pk.mode", "record_key"},
                 {"pk.fields", "id"},
                 {"delete.enabled", "true"},
                 {"key.converter", "org.apache.kafka.connect.storage.StringConverter"}});
    EXPECT_THAT(text, HasSubstr("tombstones: delete"));
    EXPECT_THAT(text, HasSubstr("id: {metadata: record_key, required: true}"));
    EXPECT_TRUE(is_noted(
        plan_of({{"insert.mode", "upsert"}, {"pk.fields", "id"}, {"delete.enabled", true}}),
        "delete.enabled"));
}

TEST(ConnectorConversion, KeepsTheTopicOfDeadLettersWithConnectsHeaders) {
    const std::string topic = "errors.deadletterqueue.topic.name";
    const std::string headers = "errors.deadletterqueue.context.headers.enable";
    const auto plan = [&](const std::string& name, const std::string& enabled) {
        return plan_of({{topic, name}, {headers, enabled}});
    };
    EXPECT_THAT(configuration_text(plan("orders-dlq", "true")),
                HasSubstr("    dead_letters: {topic: orders-dlq, headers: connect}\n"));
    EXPECT_FALSE(is_noted(plan("orders-dlq", "true"), headers));
    EXPECT_TRUE(is_noted(plan("orders-dlq", "false"), headers)) << "here they are always there";
    EXPECT_THAT(configuration_text(plan("", "true")), Not(HasSubstr("dead_letters")));
}

// A name from the connector's file must not become a line of its own.
TEST(ConnectorConversion, NamesCannotBreakOutOfTheirPlace) {
    const std::string text =
        text_of({{"fields.whitelist", "a: b, 'x\ngroup: other, null"}, {"odd\noption: 1", "x"}});
    EXPECT_THAT(text, Not(HasSubstr("\ngroup: other")));
    EXPECT_THAT(text, Not(HasSubstr("\noption: 1")));
    EXPECT_THAT(text, HasSubstr("\"null\": /null\n"));
}

}  // namespace
}  // namespace onceward
