// `onceward dlq redrive --from-topic`: letters of a topic of dead letters, ours and those of other
// programs, go back to their topic once and are applied once.

#include <fstream>

#include "cli/terminal/exit_code.h"
#include "dedup/postgres/binary.h"
#include "tests/integration/kafka/letter_scene.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::kafka_tests {
namespace {

using operator_tests::Outcome;
using support::eventually;
using support::ProducedMessage;

class RedrivenFromATopic : public LetterScene, public testing::WithParamInterface<LetterStyle> {
  protected:
    RedrivenFromATopic() {
        std::ofstream(file_) << "group: " << scene_.group() << "\nkafka: {bootstrap_servers: '"
                             << support::kafka_bootstrap_servers() << "'}\npostgres: {dsn: '"
                             << scene_.schema().server().dsn
                             << "', schema: " << scene_.schema().name()
                             << "}\ntopics:\n  - name: " << scene_.topic()
                             << "\n    key: {preset: idempotency-key}\n    sink: {table: "
                             << scene_.schema().name() << ".effects, columns: {id: /id}}\n";
    }
    ~RedrivenFromATopic() override { std::filesystem::remove(file_); }

    Outcome redrive(const std::string& from, std::vector<std::string> more) {
        more.insert(more.begin(), {"dlq", "redrive", "-c", file_.string(), "--topic",
                                   scene_.topic(), "--from-topic", from, "--json"});
        return operator_tests::onceward(std::move(more));
    }
    // What it says as JSON.
    nlohmann::json answer(std::vector<std::string> more, int code = exit_ok) {
        const Outcome outcome = redrive(letters_, std::move(more));
        EXPECT_EQ(outcome.exit_code, code) << outcome.output;
        return outcome.last_json();
    }
    std::int64_t total(const std::string& column) {
        return scene_.database().number("SELECT sum(" + column + ") FROM fences");
    }
    static ProducedMessage message(const std::string& key, int id) {
        return {
            0, "record " + key, "{\"id\": " + std::to_string(id) + "}", {{"Idempotency-Key", key}}};
    }
    // As Kafka Connect and Spring write them.
    ProducedMessage by_connect(ProducedMessage of, std::int64_t offset) {
        of.headers.insert(of.headers.end(),
                          {{"__connect.errors.topic", scene_.topic()},
                           {"__connect.errors.partition", "0"},
                           {"__connect.errors.offset", std::to_string(offset)},
                           {"__connect.errors.connector.name", "sink"},
                           {"__connect.errors.exception.class.name", "org.x.DataException"},
                           {"__connect.errors.exception.message", std::nullopt}});
        return of;
    }
    ProducedMessage by_spring(ProducedMessage of, std::int64_t offset) {
        std::string partition, place;
        binary::put32(partition, 0);
        binary::put64(place, static_cast<std::uint64_t>(offset));
        of.headers.insert(of.headers.end(), {{"kafka_dlt-exception-fqcn", "org.x.Failed"},
                                             {"kafka_dlt-original-topic", scene_.topic()},
                                             {"kafka_dlt-original-partition", partition},
                                             {"kafka_dlt-original-offset", place}});
        return of;
    }

    std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("letters");
};

TEST_P(RedrivenFromATopic, OursAreAppliedOnceOnAServerThatHasLostItsTable) {
    scene_.database().execute("ALTER TABLE effects ADD CONSTRAINT not_yet CHECK (id % 10 <> 0)");
    scene_.start(worker(GetParam()));
    scene_.send(30);
    ASSERT_TRUE(
        eventually(patience, [&] { return count("dead_letters") == 3 && scene_.applied() == 27; }));
    relay_all();
    EXPECT_EQ(published().size(), 3U);
    scene_.stop_all();
    scene_.database().execute(
        "ALTER TABLE effects DROP CONSTRAINT not_yet; DELETE FROM dead_letters; "
        "UPDATE fences SET first_offset = next_offset");
    scene_.start(worker(GetParam()));
    EXPECT_EQ(answer({})["from_topic"]["added"], 3);
    EXPECT_EQ(count("dead_letters"), 0) << "a dry run";
    const nlohmann::json sent = answer({"--yes"});
    EXPECT_EQ(sent["delivered"], 3) << sent;
    scene_.expect_all_once();
    const nlohmann::json again = answer({"--yes"}, exit_not_found);
    EXPECT_EQ(again["from_topic"]["done"], 3) << again;
    EXPECT_EQ(again["picked"], 0);
    EXPECT_EQ(total("duplicates"), 0) << "a copy was sent twice";
}

INSTANTIATE_TEST_SUITE_P(Styles, RedrivenFromATopic,
                         testing::Values(LetterStyle::onceward, LetterStyle::connect,
                                         LetterStyle::spring),
                         [](const auto& style) { return std::string(to_text(style.param)); });

using RedrivenLetters = RedrivenFromATopic;

TEST_F(RedrivenLetters, OfOtherProgramsGoBackOnceWithoutTheHeadersOfTheirErrors) {
    const ProducedMessage one = message("one", 1), two = message("two", 2);
    ProducedMessage elsewhere = by_connect(message("x", 3), 5000);
    elsewhere.headers[1].second = "another.topic";
    scene_.kafka().produce(letters_, {by_connect(one, 5000), message("no letter", 4),
                                      by_spring(two, 5001), by_connect(one, 5000), elsewhere});
    EXPECT_EQ(answer({"--yes"}, exit_not_found)["from_topic"]["no_fence"], 3)
        << "nobody would read the copies";
    scene_.start();
    scene_.send(1);
    ASSERT_TRUE(scene_.all_applied());
    const nlohmann::json dry = answer({});
    EXPECT_EQ(dry["picked"], 2) << dry;
    EXPECT_EQ(dry["from_topic"]["unreadable"], 1);
    EXPECT_EQ(dry["from_topic"]["unreadable_places"].size(), 1U);
    EXPECT_EQ(dry["from_topic"]["other_topic"], 1);
    scene_.count({one, two});
    EXPECT_EQ(answer({"--yes", "--limit", "1", "--reason", "moved"})["delivered"], 1);
    EXPECT_EQ(answer({"--yes"})["delivered"], 1);
    EXPECT_EQ(answer({"--yes"}, exit_not_found)["from_topic"]["done"], 3);
    scene_.expect_all_once();
    EXPECT_EQ(total("duplicates"), 0);
    const auto copies = scene_.kafka().read_all(scene_.topic(), 1);
    ASSERT_EQ(copies.size(), 3U);
    EXPECT_EQ(copies[1].payload, one.payload);
    EXPECT_EQ(copies[1].key, one.key);
    EXPECT_EQ(copies[1].headers, (std::vector<std::pair<std::string, std::optional<std::string>>>{
                                     {"Idempotency-Key", "one"}, {"onceward-redriven", "1"}}));
    EXPECT_EQ(scene_.database().value("SELECT reason FROM audit_log WHERE act = 'dlq import' "
                                      "ORDER BY entry LIMIT 1"),
              "moved");
}

TEST_F(RedrivenLetters, ThatStayCountForTheLimitWhichIsSaid) {
    scene_.start();
    scene_.send(1);
    ASSERT_TRUE(scene_.all_applied());
    ProducedMessage tried = message("one", 1);
    tried.headers.emplace_back("onceward-redriven", "5");
    const ProducedMessage two = message("two", 2);
    scene_.kafka().produce(letters_, {by_connect(tried, 5000), by_connect(two, 5001)});
    const Outcome full = redrive(letters_, {"--yes", "--limit", "1"});
    EXPECT_EQ(full.exit_code, exit_failure) << full.output;
    EXPECT_THAT(full.output, testing::HasSubstr("--limit was reached"));
    scene_.count({two});
    EXPECT_EQ(answer({"--yes", "--limit", "2"})["delivered"], 1);
    scene_.expect_all_once();
}

TEST_F(RedrivenLetters, OfAMessageThatTheGroupHasAppliedStaysUnlessItMayRepeat) {
    scene_.start();
    scene_.send(3);
    ASSERT_TRUE(scene_.all_applied());
    scene_.kafka().produce(letters_, {by_connect(message("key-1", 1), 1)});
    EXPECT_EQ(answer({"--yes"}, exit_not_found)["from_topic"]["read_here"], 1);
    EXPECT_EQ(answer({"--yes", "--may-repeat"})["delivered"], 1);
    ASSERT_TRUE(eventually(patience, [&] { return total("duplicates") == 1; }));
    scene_.expect_all_once();
}

TEST_F(RedrivenLetters, ThatAnOperatorDiscardedStayDiscarded) {
    scene_.start();
    scene_.send(1);
    ASSERT_TRUE(scene_.all_applied());
    scene_.kafka().produce(letters_, {by_spring(message("gone", 7), 5000)});
    scene_.database().execute(
        "INSERT INTO discarded_dead_letters (dead_letter, consumer_group, topic, identity, "
        "partition, record_offset, error_class, sqlstate, created_at, reason) SELECT 1, "
        "consumer_group, topic, coalesce(nullif(topic_id, ''), incarnation::text), 0, 5000, "
        "'sink', '', now(), 'a test' FROM fences");
    scene_.database().execute(
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
        "error_class, reason, attempts) SELECT consumer_group, topic, 'T', 0, 6000, 'sink', '', 1 "
        "FROM fences");
    const nlohmann::json sent = answer({"--yes"}, exit_not_found);
    EXPECT_EQ(sent["from_topic"]["discarded"], 1);
    EXPECT_EQ(sent["picked"], 0) << "the letter that is in the table alone was not meant";
    EXPECT_EQ(count("dead_letters"), 1);
}

// That group may have applied the message, and this one too: only the first one knows.
TEST_F(RedrivenLetters, OfAnotherGroupOfOncewardStay) {
    scene_.start();
    scene_.send(1);
    ASSERT_TRUE(scene_.all_applied());
    const LetterOrigin origin{.topic = scene_.topic(),
                              .partition = Partition{0},
                              .offset = Offset{5000},
                              .group = "another"};
    std::vector<ProducedMessage> letters;
    for (const LetterStyle style :
         {LetterStyle::onceward, LetterStyle::connect, LetterStyle::spring}) {
        letters.push_back(message("theirs", 7));
        for (const LetterHeader& header : letter_headers(style, origin)) {
            letters.back().headers.emplace_back(header.name, header.value);
        }
    }
    scene_.kafka().produce(letters_, letters);
    EXPECT_EQ(answer({"--yes"}, exit_not_found)["from_topic"]["other_group"], 3);
}

TEST_F(RedrivenLetters, NeedATopicThatIsThereAndIsNotTheirOwn) {
    EXPECT_EQ(redrive(letters_, {"--number", "1"}).exit_code, exit_usage);
    EXPECT_EQ(redrive(scene_.topic(), {}).exit_code, exit_usage);
    EXPECT_EQ(redrive(letters_ + "-not-there", {}).exit_code, exit_not_found);
}

}  // namespace
}  // namespace onceward::kafka_tests
