#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/kafka/mock_cluster.h"
#include "tests/integration/mock/program.h"
#include "tests/support/kafka.h"

namespace onceward {
namespace {

using testing::HasSubstr;

class ProduceCommand : public ProgramTest {
  protected:
    ProduceCommand() { cluster_.create_topic("topic", 2); }

    std::vector<support::ReadMessage> messages() {
        return support::Kafka(cluster_.bootstrap_servers()).read_all("topic", 2);
    }
    Outcome produce(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(),
                         {"produce", "-b", cluster_.bootstrap_servers(), "-t", "topic"});
        return run(std::move(arguments));
    }

    MockCluster cluster_;
};

TEST_F(ProduceCommand, CountsWhatItDid) {
    const auto file = write("orders.ndjson", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}\n");
    const Outcome outcome =
        produce({file.string(), "--key-field", "id", "--repeat-share", "1", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const nlohmann::json expected{
        {"records", 3}, {"unique_keys", 2}, {"repeats", 3}, {"failed", 0}, {"bad_lines", 0}};
    EXPECT_EQ(nlohmann::json::parse(outcome.output), expected);
    EXPECT_EQ(messages().size(), 6U);
}

TEST_F(ProduceCommand, WritesProtobufFromCsv) {
    const auto file = write("payments.csv", "payment_id,amount_minor\np1,300\n");
    const Outcome outcome = produce({file.string(), "--format", "protobuf", "--proto",
                                     std::string(ONCEWARD_SOURCE_FOLDER) + "/schemas/payment.proto",
                                     "--message", "onceward.demo.v1.Payment"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    ASSERT_EQ(messages().size(), 1U);
    EXPECT_EQ(messages()[0].payload, "\x0A\x02p1\x18\xAC\x02");
}

TEST_F(ProduceCommand, TakesBrokerAndTopicFromAConfiguration) {
    const auto file = write("onceward.yaml", "group: g\nkafka: {bootstrap_servers: '" +
                                                 cluster_.bootstrap_servers() +
                                                 "'}\npostgres: {dsn: '${NOT_SET_HERE}'}\n"
                                                 "topics:\n"
                                                 "  - name: topic\n"
                                                 "    key: {preset: idempotency-key}\n"
                                                 "    sink: {table: t, columns: {id: /id}}\n");
    const auto input = write("input", "{\"id\":1}\n");
    const Outcome outcome = run({"produce", "-c", file.string(), input.string()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(ProduceCommand, ABadLineIsNamedAndEndsIt) {
    const auto file = write("input", "{\"id\":1}\n{\"id\":}\n{\"id\":3}\n");
    const Outcome outcome = produce({file.string()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.output, HasSubstr("line 2: "));
    EXPECT_THAT(outcome.output, HasSubstr("--skip-bad-lines"));
    EXPECT_EQ(messages().size(), 1U);
}

TEST_F(ProduceCommand, BadInputIsExplained) {
    const struct {
        std::vector<std::string> arguments;
        int exit_code;
        const char* text;
    } cases[] = {
        {{"produce", "-t", "topic"}, 64, "--bootstrap-server"},
        {{"produce", "-b", "127.0.0.1:1"}, 64, "--topic"},
        {{"produce", "-b", "127.0.0.1:1", "-t", "topic", "no-such-file"}, 64, "cannot open"},
        {{"produce", "-b", "127.0.0.1:1", "-t", "topic", "-X", "linger"}, 64, "name=value"},
        {{"produce", "-b", "127.0.0.1:1", "-t", "topic", "-X", "lingr.ms=1"}, 1, "lingr.ms"},
        {{"produce", "-b", "127.0.0.1:1", "-t", "topic", "-f", "protobuf"}, 64, "--message"},
        {{"produce", "-b", "127.0.0.1:1", "-t", "topic"}, 1, "no broker answered"},
    };
    for (const auto& [arguments, exit_code, text] : cases) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.output;
        EXPECT_THAT(outcome.output, HasSubstr(text));
    }
}

}  // namespace
}  // namespace onceward
