// `onceward init --from-topic` against a real broker: what it prints passes `check`, and with its
// table a worker applies the sample without a dead letter. The program itself runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "dedup/base/text.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/avro_bytes.h"
#include "tests/integration/kafka/scene.h"
#include "tests/integration/kafka/stand_in_registry.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using support::ProducedMessage;
using testing::HasSubstr;
using testing::Not;

struct Printed {
    int exit_code = -1;
    std::string output;
    std::string errors;
};

class FromTopic : public testing::Test {
  protected:
    FromTopic() {
        std::filesystem::create_directories(folder_);
        support::kafka().create_topic(topic_, 2);
    }
    ~FromTopic() override { std::filesystem::remove_all(folder_); }

    Printed onceward(std::vector<std::string> arguments) const {
        const auto output = folder_ / "output";
        std::filesystem::remove(output);
        std::string line = "'" + std::string(ONCEWARD_EXECUTABLE) + "'";
        for (const std::string& argument : arguments) line += " '" + argument + "'";
        ChildOptions options;
        options.command = {"/bin/sh", "-c", line + " 2>'" + (folder_ / "errors").string() + "'"};
        options.environment = environment();
        options.output = output;
        ChildProcess process(options);
        const auto status = process.wait(60s);
        return {status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1, read(output),
                read(folder_ / "errors")};
    }
    Printed init(std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = {"init",      "--from-topic",
                                              topic_,      "--brokers",
                                              support::kafka_bootstrap_servers(), "--sample",
                                              "1000"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return onceward(arguments);
    }
    std::vector<std::string> environment() const {
        return {"ONCEWARD_DSN=" + schema_.server().worker_dsn, "ONCEWARD_CONFIG="};
    }
    static std::string read(const std::filesystem::path& file) {
        std::ostringstream text;
        text << std::ifstream(file).rdbuf();
        return text.str();
    }

    // What a person does: looks, runs the statement, and starts the worker. `more`: of `init`.
    void expect_all_applied(std::int64_t rows, const std::vector<std::string>& more = {}) {
        const Printed proposed = init(more);
        ASSERT_EQ(proposed.exit_code, 0) << proposed.errors;
        std::ofstream(file_) << proposed.output;
        const Printed checked = onceward({"check", "-c", file_.string()});
        EXPECT_EQ(checked.exit_code, 0) << checked.errors << proposed.output;
        std::vector<std::string> with_ddl = more;
        with_ddl.emplace_back("--ddl");
        const Printed ddl = init(with_ddl);
        ASSERT_EQ(ddl.exit_code, 0) << ddl.errors;
        ASSERT_NO_THROW(schema_.database().execute(ddl.output)) << ddl.output;
        const std::string table = schema_.name() + "." + replaced(topic_, "-", "_");
        schema_.database().execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + " TO " +
                                   support::worker_role);
        // This test's schemas and port are not those that a person has.
        std::string text = replaced(proposed.output, "\npostgres:\n",
                                    "\nadmin: {listen: 'off'}\npostgres:\n  schema: " +
                                        schema_.name() + "\n");
        text = replaced(text, "      table: ", "      table: " + schema_.name() + ".");
        std::ofstream(file_) << text;
        const Printed sampled =
            onceward({"check", "-c", file_.string(), "--connect", "--sample", "1000"});
        EXPECT_EQ(sampled.exit_code, 0) << sampled.output << sampled.errors << text;

        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "run", "-c", file_.string()};
        options.environment = environment();
        options.output = folder_ / "log";
        ChildProcess worker(options);
        EXPECT_TRUE(eventually(patience, [&] {
            return schema_.database().number("SELECT count(*) FROM " + table) == rows;
        })) << read(folder_ / "log");
        EXPECT_EQ(schema_.database().number("SELECT count(*) FROM dead_letters"), 0);
        worker.send(SIGTERM);
        worker.wait(30s);
        EXPECT_EQ(schema_.database().number("SELECT count(*) FROM " + table), rows);
    }
    void expect_nothing_moved() const {
        for (const std::string& group : {std::string("onceward-init"), "onceward-" + topic_}) {
            for (const int partition : {0, 1}) {
                EXPECT_FALSE(support::kafka().committed_offset(group, topic_, partition)) << group;
            }
        }
    }

    support::FreshSchema schema_;
    std::string topic_ = support::unique_name("from_topic");
    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("init");
    std::filesystem::path file_ = folder_ / "onceward.yaml";
};

TEST_F(FromTopic, ASampleOfJsonBecomesATableThatTakesAllOfIt) {
    std::vector<ProducedMessage> messages;
    for (int i = 0; i < 300; ++i) {
        const std::string number = std::to_string(i);
        const std::string mixed = i % 2 == 0 ? number : "\"x\"";
        messages.push_back(
            {.partition = i % 2,
             .key = "customer-" + std::to_string(i % 7),
             .payload = R"({"id": )" + number + R"(, "amount": )" + number + R"(.5, "paid": true,
                 "paid_at": 17171392895)" + std::to_string(10 + i % 90) + R"(,
                 "ordered": "2024-05-31T07:08:09Z", "day": "2024-05-31", "mixed": )" + mixed +
                        R"(, "customer": {"name": "a"}, "nul": {"x": "\u0000"},
                 "Group\n by": "odd", "a\"; --": null})",
             .headers = {{"traceparent", "x"}}});
    }
    messages.push_back({.partition = 0, .key = "gone", .payload = std::nullopt, .headers = {}});
    support::kafka().produce(topic_, messages);
    const Printed proposed = init();
    EXPECT_THAT(proposed.output, HasSubstr("key: the field `id`: 300 of 300 distinct"));
    EXPECT_THAT(proposed.output, HasSubstr("convert: epoch_millis"));
    EXPECT_THAT(proposed.output, HasSubstr("field `mixed` has values of different kinds"));
    EXPECT_THAT(proposed.output, HasSubstr("group: onceward-" + topic_));
    EXPECT_THAT(proposed.output, HasSubstr("start: earliest"));
    expect_nothing_moved();
    expect_all_applied(300);
    // The worker has a group now, so the next proposal has another one.
    EXPECT_THAT(init().output, HasSubstr("group: onceward-" + topic_ + "-2"));
}

TEST_F(FromTopic, AnAvroSchemaInARegistrySaysTypesAndWhatIsNeverNull) {
    StandInRegistry registry;
    const std::string schema =
        R"({"type":"record","name":"Order","fields":[{"name":"event_id","type":"string"},
            {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
            {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,
             "scale":2}},{"name":"note","type":["null","string"]}]})";
    std::string answer = "\"schema\":";
    append_json_string(schema, answer);
    registry.give("/schemas/ids/7", answer);
    registry.give("/subjects/" + topic_ + "-value/versions/latest",
                  answer + R"(,"id":7,"version":1)");
    const Printed empty = init({"--registry", registry.url(), "--ddl"});
    EXPECT_EQ(empty.exit_code, 0) << empty.errors;
    EXPECT_THAT(empty.output, HasSubstr("\"price\" numeric NOT NULL"))
        << "an empty topic's schema is enough";

    std::vector<ProducedMessage> messages;
    for (int i = 0; i < 200; ++i) {
        messages.push_back({.partition = i % 2,
                            .key = {},
                            .payload = framed(
                                7, avro_text("e-" + std::to_string(i)) +
                                       avro_long(1'717'139'289'500 + i) + avro_text("\x04\xd2") +
                                       (i % 3 == 0 ? avro_long(0) : avro_long(1) + avro_text("n"))),
                            .headers = {}});
    }
    support::kafka().produce(topic_, messages);
    const Printed proposed = init({"--registry", registry.url() + "/"});
    EXPECT_THAT(proposed.output, HasSubstr("200 of 200 payloads name a schema of the registry"));
    EXPECT_THAT(proposed.output, HasSubstr("\"at\" timestamptz NOT NULL"));
    EXPECT_THAT(proposed.output, HasSubstr("sources: [{field: /event_id}]"));
    expect_nothing_moved();
    expect_all_applied(200, {"--registry", registry.url()});
}

TEST_F(FromTopic, WhatIsNotThereIsNotFound) {
    const Printed empty = init();
    EXPECT_EQ(empty.exit_code, 3);
    EXPECT_THAT(empty.errors, HasSubstr("no payload to make a proposal of"));
    topic_ = support::unique_name("missing");
    const Printed missing = init();
    EXPECT_EQ(missing.exit_code, 3);
    EXPECT_THAT(missing.errors, HasSubstr("know no topic " + topic_));
}

TEST_F(FromTopic, SecretsOfTheCommandLineAreNotPrinted) {
    support::kafka().produce(
        topic_, {{.partition = 0, .key = {}, .payload = R"({"a": 1})", .headers = {}}});
    const Printed proposed =
        init({"-X", "ssl.key.password=c4n4ry", "-X", "client.id=me${x}"});
    ASSERT_EQ(proposed.exit_code, 0) << proposed.errors;
    EXPECT_THAT(proposed.output, Not(HasSubstr("c4n4ry")));
    EXPECT_THAT(proposed.output, HasSubstr("ssl.key.password: \"${SSL_KEY_PASSWORD}\""));
    EXPECT_THAT(proposed.output, HasSubstr("client.id: \"me$${x}\""));
    const Printed login = init({"--registry", "http://user:c4n4ry@localhost:1"});
    EXPECT_EQ(login.exit_code, 64);
    EXPECT_THAT(login.errors, Not(HasSubstr("c4n4ry")));
}

}  // namespace
}  // namespace onceward::kafka_tests
