// The files that the checker reads: produced list, scene, a run's folder; and what it writes.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/faults/checker/base64.h"
#include "tests/faults/checker/produced_list.h"
#include "tests/faults/checker/report.h"
#include "tests/faults/checker/scene.h"
#include "tests/faults/checker/secrets.h"
#include "tests/support/unique.h"

namespace onceward::checker {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Folder {
  public:
    Folder() : path_(std::filesystem::temp_directory_path() / support::unique_name("checker")) {
        std::filesystem::create_directories(path_ / "logs");
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
        return path_ / name;
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

Evidence two_topics() {
    Evidence evidence;
    evidence.topics = {{.name = "payments"}, {.name = "refunds"}};
    return evidence;
}

void read(const std::string& text, Evidence& evidence) {
    std::istringstream lines(text);
    read_produced(lines, evidence);
}

TEST(ProducedList, GivesBackWhatWasWritten) {
    Evidence evidence = two_topics();
    const ProducedMessage message{.id = 17,
                                  .place = {1, 2, 1041},
                                  .nature = Nature::refused,
                                  .aborted = true,
                                  .key_kind = "header:Idempotency-Key",
                                  .key = std::string("a\0\xff", 3),
                                  .fingerprint = "f",
                                  .target = "account-3",
                                  .acknowledged_us = 1'700'000'000'000'000};
    read(produced_line(message, evidence.topics) + "\n" +
             produced_line({.id = 18, .place = {0, 0, -1}, .key = "k\xc3\xa4"}, evidence.topics) +
             "\n",
         evidence);
    ASSERT_EQ(evidence.produced.size(), 2u);
    const ProducedMessage& read_back = evidence.produced[0];
    EXPECT_EQ(read_back.id, message.id);
    EXPECT_EQ(read_back.place, message.place);
    EXPECT_EQ(read_back.nature, message.nature);
    EXPECT_TRUE(read_back.aborted);
    EXPECT_EQ(read_back.key_kind, message.key_kind);
    EXPECT_EQ(read_back.key, message.key);
    EXPECT_EQ(read_back.fingerprint, "f");
    EXPECT_EQ(read_back.target, "account-3");
    EXPECT_EQ(read_back.acknowledged_us, message.acknowledged_us);
    EXPECT_EQ(evidence.produced[1].place.offset, -1);
    EXPECT_EQ(evidence.produced[1].key, "k\xc3\xa4");
}

TEST(ProducedList, PassesOverALastLineThatWasCut) {
    Evidence evidence = two_topics();
    read("{\"id\":1,\"t\":\"payments\"}\n{\"id\":2,\"t\":\"pay", evidence);
    EXPECT_EQ(evidence.produced.size(), 1u);
}

TEST(ProducedList, RefusesAnyOtherMistakeWithItsLine) {
    const auto reading = [](const std::string& text) {
        return [text] {
            Evidence evidence = two_topics();
            read(text, evidence);
        };
    };
    EXPECT_THAT(reading("{\"id\":1,\"t\":\"payments\"}\n{\"id\n"),
                ThrowsMessage<std::runtime_error>(HasSubstr("line 2: no JSON")));
    EXPECT_THAT(reading("{\"id\":1,\"t\":\"other\"}\n"),
                ThrowsMessage<std::runtime_error>(HasSubstr("unknown topic other")));
    EXPECT_THAT(reading("{\"id\":1,\"t\":\"payments\",\"n\":\"bad\"}\n"),
                ThrowsMessage<std::runtime_error>(HasSubstr("unknown nature bad")));
    EXPECT_THAT(reading("{\"t\":\"payments\"}\n"),
                ThrowsMessage<std::runtime_error>(HasSubstr("id")));
}

TEST(Base64, ComesBackWhateverTheLength) {
    for (const std::string bytes : {"", "a", "ab", "abc", "abcd"}) {
        EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    }
    EXPECT_EQ(from_base64("AAA="), std::string(2, '\0'));
    EXPECT_THROW(from_base64("#"), std::runtime_error);
}

TEST(CallList, GivesBackWhatWasWritten) {
    Evidence evidence;
    std::istringstream lines(
        "{\"id\":17,\"k\":\"0d9c\",\"w\":\"worker-1\",\"at\":1700000000000000,\"s\":503}\n"
        "{\"id\":18,\"k\":\"77aa\",\"w\":\"worker-2\",\"at\":1700000000000001}\n{\"id\":1");
    read_calls(lines, evidence);
    ASSERT_EQ(evidence.calls.size(), 2U);
    EXPECT_EQ(evidence.calls[0].message, 17U);
    EXPECT_EQ(evidence.calls[0].key, "0d9c");
    EXPECT_EQ(evidence.calls[0].worker, "worker-1");
    EXPECT_EQ(evidence.calls[0].at_us, 1'700'000'000'000'000);
    EXPECT_EQ(evidence.calls[0].status, 503);
    EXPECT_EQ(evidence.calls[1].status, 0);
}

const char* const scene_text = R"({
    "postgres": {"dsn": "host=x", "schema": "s",
        "sinks": [{"topic": "payments", "table": "t", "target": "account"}]},
    "kafka": {"bootstrap_servers": "b", "properties": {"client.id": "checker"}},
    "group": "g", "produced": "produced.ndjson", "published": "done", "calls": "calls.ndjson",
    "requests": {"file": "requests.ndjson", "table": "app.effects"},
    "topics": [{"name": "payments", "upsert": true, "published": true, "leases": true,
        "tombstones": "delete",
        "reach": "partition", "without_key": "derive"}],
    "retention_ms": 2500, "failed_over": true,
    "halted": [{"topic": "payments", "partition": 1, "said": true}],
    "secrets": {"folder": "logs", "canaries": ["hunter2"], "except": ["worker.yaml"]},
    "sample": {"pids": [7], "every_ms": 100, "owners_every": 5, "budgets": {"fds": 3}}})";

TEST(SceneFile, IsReadWithPathsFromItsOwnFolder) {
    const Folder folder;
    const Scene scene = read_scene(folder.write("scene.json", scene_text));
    EXPECT_EQ(scene.produced, folder.path() / "produced.ndjson");
    EXPECT_EQ(scene.published, "done");
    EXPECT_EQ(scene.calls, folder.path() / "calls.ndjson");
    EXPECT_EQ(scene.requests, folder.path() / "requests.ndjson");
    EXPECT_EQ(scene.request_table, "app.effects");
    EXPECT_EQ(scene.secrets_folder, folder.path() / "logs");
    EXPECT_EQ(scene.postgres.consumer_group, "g");
    EXPECT_EQ(scene.kafka.consumer_group, "g");
    ASSERT_EQ(scene.kafka.properties.size(), 1u);
    ASSERT_EQ(scene.postgres.sinks.size(), 1u);
    EXPECT_EQ(scene.postgres.sinks[0].target, "account");
    EXPECT_EQ(scene.postgres.sinks[0].offset, "kafka_offset");
    ASSERT_EQ(scene.evidence.topics.size(), 1u);
    EXPECT_TRUE(scene.evidence.topics[0].upsert);
    EXPECT_TRUE(scene.evidence.topics[0].published);
    EXPECT_TRUE(scene.evidence.topics[0].leases);
    EXPECT_TRUE(scene.evidence.topics[0].per_partition);
    EXPECT_EQ(scene.evidence.topics[0].tombstones, Policy::remove);
    EXPECT_EQ(scene.evidence.topics[0].without_key, Policy::derive);
    EXPECT_EQ(scene.evidence.settings.retention_us, 2'500'000);
    EXPECT_TRUE(scene.evidence.settings.failed_over);
    ASSERT_EQ(scene.evidence.halted.size(), 1u);
    EXPECT_TRUE(scene.evidence.halted[0].said);
    EXPECT_EQ(scene.sample.pids, std::vector<int>{7});
    EXPECT_EQ(scene.sample.owners_every, 5);
    EXPECT_EQ(scene.sample.budgets.fds, 3);
}

TEST(SceneFile, RefusesWhatItDoesNotKnow) {
    const Folder folder;
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = scene_text;
        text.replace(text.find(from), from.size(), to);
        const std::filesystem::path file = folder.write("scene.json", text);
        return [file] { read_scene(file); };
    };
    EXPECT_THAT(with("failed_over", "failedover"),
                ThrowsMessage<std::runtime_error>(HasSubstr("unknown member failedover")));
    EXPECT_THAT(with("\"delete\"", "\"derive\""),
                ThrowsMessage<std::runtime_error>(HasSubstr("unknown policy derive")));
    EXPECT_THAT(with("\"group\": \"g\",", ""),
                ThrowsMessage<std::runtime_error>(HasSubstr("lacks group")));
    EXPECT_THAT(with("2500", "\"soon\""), ThrowsMessage<std::runtime_error>(HasSubstr("scene")));
}

TEST(Secrets, AreFoundInEveryFileButThoseThatHoldThem) {
    const Folder folder;
    folder.write("logs/worker.log", "one\npassword=hunter2 host=x\n");
    folder.write("logs/clean.log", "hunter3\n");
    folder.write("worker.yaml", "password: hunter2\n");
    const std::vector<SecretFound> found =
        find_secrets(folder.path(), {"", "hunter2"}, {"worker.yaml"});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].file, "logs/worker.log");
    EXPECT_EQ(found[0].line, 2);
    EXPECT_THROW(find_secrets(folder.path() / "none", {"x"}), std::runtime_error);
}

TEST(Report, TellsAllInJson) {
    Verdict verdict;
    EXPECT_EQ(exit_code(verdict), 0);
    verdict.problems.push_back("no \xff");
    EXPECT_EQ(exit_code(verdict), 2);
    verdict.numbers.lost = 3;
    verdict.violations.push_back({"I1", "a key has no effect", {"key 'a'"}, 3});
    EXPECT_EQ(exit_code(verdict), 1);
    const auto report = nlohmann::json::parse(json_report(verdict));
    EXPECT_EQ(report["lost"], 3);
    EXPECT_EQ(report["violations"][0]["invariant"], "I1");
    EXPECT_EQ(report["violations"][0]["where"][0], "key 'a'");
    EXPECT_EQ(report["problems"].size(), 1u);
    EXPECT_THAT(summary(verdict), HasSubstr("I1: a key has no effect (3)\n    key 'a'"));
}

}  // namespace
}  // namespace onceward::checker
