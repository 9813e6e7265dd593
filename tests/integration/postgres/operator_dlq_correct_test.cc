// `onceward dlq redrive --payload`: one letter with another payload, under its key, and with who
// and why; on a real server and librdkafka's mock cluster.

#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/kafka.h"

namespace onceward::operator_tests {
namespace {

class CorrectedLetter : public Operator {
  protected:
    CorrectedLetter() {
        cluster_.create_topic("orders", 2);
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "record_key, headers, payload, key_text, error_class, reason, attempts) VALUES "
            "('billing', 'orders', 'T', 1, 7, 'customer', '[{\"name\": \"h\", \"value\": "
            "\"ay0x\"}]', $1, 'k-1', 'unmappable', 'why', 1)",
            {letter_});
        number_ = database().value("SELECT dead_letter FROM dead_letters");
    }
    ~CorrectedLetter() override { std::filesystem::remove(file_); }

    Outcome redrive(const std::string& payload, const std::vector<std::string>& more) {
        std::ofstream(file_) << payload;
        const Configured configured(cluster_.bootstrap_servers());
        std::vector<std::string> arguments{"dlq",    "redrive", "--topic",         "orders",
                                           "--payload", file_.string(), "-c", configured.file()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_as_owner(std::move(arguments));
    }
    std::vector<support::ReadMessage> sent() {
        return support::Kafka(cluster_.bootstrap_servers()).read_all("orders", 2);
    }
    std::string state() {
        return database().value("SELECT concat_ws('|', resolved_at IS NULL, redriven_at IS NULL, "
                                "convert_from(payload, 'UTF8')) FROM dead_letters");
    }

    MockCluster cluster_;
    const std::string letter_ = R"({"id": "k-1", "merchant": "m", "amount": "x"})";
    const std::string fixed_ = R"({"id": "k-1", "merchant": "m", "amount": 1})";
    std::string number_;
    std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("payload");
};

TEST_F(CorrectedLetter, IsSentUnderItsKeyAndKeptAsItWas) {
    const std::vector<std::string> said{"--number", number_, "--reason", "amount was a text"};
    const Outcome dry = redrive(fixed_, said);
    EXPECT_EQ(dry.exit_code, 0) << dry.output;
    EXPECT_EQ(state(), "t|t|" + letter_);
    std::vector<std::string> really = said;
    really.emplace_back("--yes");
    const Outcome outcome = redrive(fixed_, really);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    const auto messages = sent();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].payload, fixed_);
    EXPECT_EQ(messages[0].key, "customer");
    ASSERT_EQ(messages[0].headers.size(), 3U);
    EXPECT_EQ(messages[0].headers[0].first, "h");
    EXPECT_EQ(messages[0].headers[1].first, "onceward-redriven");
    EXPECT_EQ(messages[0].headers[2].first, "onceward-corrects");
    EXPECT_EQ(messages[0].headers[2].second, number_);
    EXPECT_EQ(state(), "f|f|" + letter_) << "the letter has its own payload still";
    EXPECT_EQ(database().value(
                  "SELECT string_agg(concat_ws(' ', act, outcome, reason, details ->> 'number', "
                  "details ->> 'payload_bytes'), ', ' ORDER BY entry) FROM audit_log "
                  "WHERE act = 'dlq correct'"),
              "dlq correct began amount was a text " + number_ + " " +
                  std::to_string(fixed_.size()));
}

TEST_F(CorrectedLetter, OfAnotherKeyIsNotSent) {
    for (const char* other : {R"({"id": "k-2", "merchant": "m"})", R"({"id": "k-1"})", "{"}) {
        const Outcome outcome =
            redrive(other, {"--number", number_, "--reason", "why", "--yes"});
        EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    }
    EXPECT_TRUE(sent().empty());
    EXPECT_EQ(state(), "t|t|" + letter_);
    EXPECT_EQ(database().number("SELECT count(*) FROM audit_log WHERE act LIKE 'dlq%'"), 0);
}

TEST_F(CorrectedLetter, IsOneWithAReason) {
    EXPECT_EQ(redrive(fixed_, {"--reason", "why", "--yes"}).exit_code, 64);
    EXPECT_EQ(redrive(fixed_, {"--number", number_, "--yes"}).exit_code, 64);
    EXPECT_EQ(redrive("", {"--number", number_, "--reason", "why", "--yes"}).exit_code, 1);
    EXPECT_TRUE(sent().empty());
}

}  // namespace
}  // namespace onceward::operator_tests
