#include "cli/configuration/origins.h"

#include <gmock/gmock.h>

#include "cli/configuration/load.h"

namespace onceward {
namespace {

using Source = OptionOrigin::Source;

Configuration loaded(const std::string& text) {
    LoadOptions options;
    options.environment = [](const std::string& name) { return std::optional("value of " + name); };
    return load_configuration_text(text, "onceward.yaml", options).configuration;
}

OptionOrigin origin_of(const Configuration& configuration, const std::string& path) {
    for (const OptionOrigin& origin : configuration.origins) {
        if (origin.path == path) return origin;
    }
    return {.path = "none"};
}

constexpr const char* text = R"(group: billing
kafka:
  bootstrap_servers: ${KAFKA}
  properties: {session.timeout.ms: 6000, sasl.password: hunter2}
postgres: {dsn: "host=a password=hunter2"}
workers: 2
topics:
  - name: orders
    sink:
      table: orders
      columns: {id: {field: /id, required: true}}
)";

TEST(Origins, AnOptionHasItsValueAndThePlaceThatItCameFrom) {
    const Configuration configuration = loaded(text);
    const OptionOrigin group = origin_of(configuration, "group");
    EXPECT_EQ(group.value, "billing");
    EXPECT_EQ(group.source, Source::file);
    EXPECT_EQ(group.mark.line, 1);
    const OptionOrigin servers = origin_of(configuration, "kafka.bootstrap_servers");
    EXPECT_EQ(servers.value, "value of KAFKA");
    EXPECT_EQ(servers.source, Source::environment);
    EXPECT_EQ(servers.name, "KAFKA");
    EXPECT_EQ(origin_of(configuration, "topics[0].name").value, "orders");
    EXPECT_EQ(origin_of(configuration, "topics[0].sink.columns").value,
              R"({"id":{"field":"/id","required":"true"}})");
    const OptionOrigin format = origin_of(configuration, "logging.format");
    EXPECT_EQ(format.value, "text");
    EXPECT_EQ(format.source, Source::standard);
    EXPECT_EQ(origin_of(configuration, "workers").source, Source::file);
}

TEST(Origins, SecretsHaveNoValue) {
    const Configuration configuration = loaded(text);
    EXPECT_TRUE(origin_of(configuration, "postgres.dsn").secret);
    EXPECT_TRUE(origin_of(configuration, "kafka.properties.sasl.password").secret);
    EXPECT_EQ(origin_of(configuration, "kafka.properties.session.timeout.ms").value, "6000");
    for (const OptionOrigin& origin : configuration.origins) {
        EXPECT_THAT(origin.value, testing::Not(testing::HasSubstr("hunter2"))) << origin.path;
    }
}

}  // namespace
}  // namespace onceward
