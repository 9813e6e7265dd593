// What may happen to a log: it is trimmed, made again, holds control records and holes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dedup/message/digest.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::AnyOf;
using testing::HasSubstr;

// 100 messages, 60 of them applied, of the rest 40 the first 20 trimmed away while nobody ran.
void trim_past_the_fence(Scene& scene) {
    scene.send(60);
    scene.start();
    ASSERT_TRUE(scene.all_applied());
    scene.stop_all();
    scene.kafka().produce(scene.topic(), scene.make(20, 0));
    scene.send(20);
    scene.kafka().delete_records(scene.topic(), 0, 80);
}

std::string skipped(Scene& scene) {
    const support::Rows rows = scene.database().execute(
        "SELECT begin_offset, end_offset FROM skipped_ranges ORDER BY skipped_range");
    std::string text;
    for (const support::Row& row : rows) text += *row[0] + "-" + *row[1] + ";";
    return text;
}

TEST(Log, TrimmedPastTheFenceHalts) {
    Scene scene;
    trim_past_the_fence(scene);
    Worker& worker = scene.start();
    EXPECT_THAT(Scene::halted(worker), HasSubstr("no longer in the log"));
    const Halt halt = worker.status().halted.front().halt;
    EXPECT_EQ(halt.reason, HaltReason::out_of_range);
    EXPECT_EQ(halt.lost, (OffsetRange{Offset{60}, Offset{80}}));
    EXPECT_EQ(scene.next_offset(0), 60);
    EXPECT_EQ(scene.applied(), 60);
    EXPECT_EQ(skipped(scene), "");
}

TEST(Log, WhatCannotBeDecodedOrMappedHasALineWithoutItsPayload) {
    Scene scene;
    scene.start();
    const CapturedLog log;
    scene.kafka().produce(
        scene.topic(),
        {{.partition = 0, .key = {}, .payload = "canary", .headers = {{"Idempotency-Key", "a"}}}});
    EXPECT_TRUE(log.says("messages.rejected"));
    EXPECT_THAT(log.text(), HasSubstr("messages=1 partition=0 offset=0 class=\"undecodable\""));
    EXPECT_EQ(log.text().find("canary"), std::string::npos);
}

// After _AUTO_OFFSET_RESET librdkafka takes no seek in the partition: it must be assigned again, by
// each protocol's rules.
class OutOfRange : public testing::TestWithParam<std::string> {};

TEST_P(OutOfRange, TrimmedPastTheFenceGoesOnAtTheEarliestAndSaysSo) {
    Scene scene({.partitions = 1});
    trim_past_the_fence(scene);
    WorkerOptions options = scene.options();
    if (GetParam() == "eager") {
        options.kafka.properties["partition.assignment.strategy"] = "range";
    } else if (GetParam() == "kip848") {
        options.kafka.properties["group.protocol"] = "consumer";
        options.kafka.properties.erase("session.timeout.ms");
        options.kafka.properties.erase("heartbeat.interval.ms");
    }
    options.topics[0].on_out_of_range = OutOfRangePolicy::earliest;
    scene.start(std::move(options));
    scene.expect_all_once();
    EXPECT_EQ(skipped(scene), "60-80;");
    EXPECT_EQ(scene.next_offset(0), 100);
}

INSTANTIATE_TEST_SUITE_P(Protocols, OutOfRange, testing::Values("eager", "cooperative", "kip848"),
                         [](const auto& info) { return info.param; });

TEST(Log, TrimmedPastTheFenceGoesOnAtTheLatestAndSaysSo) {
    Scene scene;
    trim_past_the_fence(scene);
    WorkerOptions options = scene.options();
    options.topics[0].on_out_of_range = OutOfRangePolicy::latest;
    Worker& worker = scene.start(std::move(options));
    ASSERT_TRUE(eventually(patience, [&] { return scene.next_offset(0) >= 100; }));
    EXPECT_EQ(skipped(scene), "60-100;");
    EXPECT_EQ(worker.status().counts.offsets_skipped, 40);
    ASSERT_TRUE(eventually(patience, [&] { return worker.status().reading == 1; }));
    scene.kafka().produce(scene.topic(), scene.make(10, 0));
    EXPECT_TRUE(eventually(patience, [&] { return scene.applied() == 70; }));
}

TEST(Log, ATopicMadeAgainIsNotTakenForItsNamesake) {
    Scene scene;
    scene.send(50);
    scene.start();
    ASSERT_TRUE(scene.all_applied());
    scene.stop_all();
    scene.kafka().delete_topic(scene.topic());
    scene.kafka().create_topic(scene.topic(), 1);
    // Grown past the fence: every offset is there, and none means what it meant.
    scene.kafka().produce(scene.topic(), scene.make(80, 0));
    Worker& worker = scene.start();
    EXPECT_THAT(Scene::halted(worker), HasSubstr("not the one that the fence refers to"));
    EXPECT_EQ(scene.applied(), 50);
    EXPECT_EQ(scene.next_offset(0), 50);
}

TEST(Log, ATopicMadeAgainUnderARunningWorkerStopsIt) {
    Scene scene;
    scene.send(50);
    Worker& worker = scene.start();
    ASSERT_TRUE(scene.all_applied());
    scene.kafka().delete_topic(scene.topic());
    scene.kafka().create_topic(scene.topic(), 1);
    scene.kafka().produce(scene.topic(), scene.make(10, 0));
    // By the topic's id, or because the log ends below the fence, whichever is seen first.
    EXPECT_THAT(Scene::halted(worker),
                AnyOf(HasSubstr("not the one that the fence"), HasSubstr("below the fence")));
    EXPECT_EQ(scene.next_offset(0), 50);
    EXPECT_EQ(scene.applied(), 50);
}

struct FingerprintCase {
    std::string name;
    FingerprintOptions fingerprint;
    std::string fence;  // applied, duplicates, conflicts, dead_lettered
};

class Fingerprints : public testing::TestWithParam<FingerprintCase> {};

// A replay of which some messages say something else under their key, or the same in other words.
TEST_P(Fingerprints, TheSameIsADuplicateAndAnythingElseUnderItsKeyAConflictWithBothFingerprints) {
    Scene scene;
    WorkerOptions options = scene.options();
    options.topics[0].key.fingerprint = GetParam().fingerprint;
    scene.start(std::move(options));
    std::vector<support::ProducedMessage> sent = scene.make(100, 0);
    const std::vector<support::ProducedMessage> first = sent;
    scene.kafka().produce(scene.topic(), sent);
    scene.count(sent);
    ASSERT_TRUE(scene.all_applied());
    for (std::size_t i = 0; i < sent.size(); ++i) {
        std::string& payload = *sent[i].payload;
        if (i % 10 == 0) payload = "{\"id\": 1000}";
        if (i % 10 == 1) payload.insert(payload.size() - 1, ".0, \"sent\": \"again\"");
    }
    scene.kafka().produce(scene.topic(), sent);
    ASSERT_TRUE(eventually(patience, [&] { return scene.next_offset(0) >= 200; }));
    EXPECT_EQ(scene.fence(0, "applied, duplicates, conflicts, dead_lettered"), GetParam().fence);
    EXPECT_EQ(scene.applied(), 100);
    const support::Rows letters = scene.database().execute(
        "SELECT record_offset - 100, fingerprint, first_fingerprint FROM dead_letters WHERE "
        "error_class = 'conflict' AND fingerprint <> first_fingerprint AND "
        "(first_places->0->>'offset')::bigint = record_offset - 100 ORDER BY 1");
    const bool of_payload = GetParam().fingerprint.of == FingerprintOptions::Of::payload;
    ASSERT_EQ(letters.size(), of_payload ? 20U : 10U);
    for (std::size_t letter = 0; letter < letters.size(); ++letter) {
        const std::size_t i = std::stoul(letters[letter][0].value());
        EXPECT_EQ(i, of_payload ? letter / 2 * 10 + letter % 2 : letter * 10);
        if (!of_payload) continue;
        EXPECT_EQ(letters[letter][1], uuid_text(digest_of_bytes(*sent[i].payload)));
        EXPECT_EQ(letters[letter][2], uuid_text(digest_of_bytes(*first[i].payload)));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Log, Fingerprints,
    testing::Values(
        FingerprintCase{"fields", {FingerprintOptions::Of::fields, {"/id"}}, "100 90 10 0"},
        FingerprintCase{"payload", {FingerprintOptions::Of::payload, {}}, "100 80 20 0"}),
    [](const auto& info) { return info.param.name; });

TEST(Log, AKeyThatComesTooOftenGoesToTheDeadLettersAndOthersPass) {
    Scene scene;
    WorkerOptions options = scene.options();
    options.topics[0].reject.hot_key = {.most = 3, .within = 24h};
    scene.start(std::move(options));
    const std::vector<support::ProducedMessage> one = scene.make(1, 0);
    scene.kafka().produce(scene.topic(), std::vector<support::ProducedMessage>(5, one[0]));
    scene.kafka().produce(scene.topic(), scene.make(10, 0));
    ASSERT_TRUE(eventually(patience, [&] { return scene.applied() == 11; }));
    EXPECT_EQ(scene.fence(0, "applied, duplicates, conflicts, dead_lettered"), "11 2 0 2");
    EXPECT_EQ(scene.database().value(
                  "SELECT string_agg(concat_ws(' ', error_class, record_offset), ', ' ORDER BY "
                  "record_offset) FROM dead_letters"),
              "hot_key 3, hot_key 4");
}

TEST(Log, AbortedTransactionsAndControlRecordsArePassedAndTheFenceReachesTheEnd) {
    Scene scene;
    using End = support::Kafka::Transaction;
    scene.kafka().produce_in_transaction(scene.topic(), scene.make(20, 0), End::abort);
    const auto kept = scene.make(20, 0);
    scene.kafka().produce_in_transaction(scene.topic(), kept, End::commit);
    scene.count(kept);
    scene.kafka().produce_in_transaction(scene.topic(), scene.make(5, 0), End::abort);
    scene.start();
    scene.expect_all_once();
    const std::int64_t end = scene.kafka().offsets(scene.topic(), 0).second;
    EXPECT_EQ(end, 20 + 20 + 5 + 3);
    // After the last message there are only control records and what was aborted: the watermark's
    // write moves the fence.
    EXPECT_TRUE(eventually(patience, [&] { return scene.next_offset(0) == end; }));
    EXPECT_TRUE(
        eventually(patience, [&] { return scene.fence(0, "watermark IS NOT NULL") == "t"; }));
    // A control record may be of a later leader than the last message. With that one's epoch a seek
    // there would be answered as one after the end of a truncated log.
    EXPECT_EQ(scene.fence(0, "leader_epoch"), "-1");
    scene.kafka().produce(scene.topic(), scene.make(5, 0));
    EXPECT_TRUE(eventually(patience, [&] { return scene.next_offset(0) == end + 5; }));
    EXPECT_EQ(scene.fence(0, "leader_epoch"), "0");
}

TEST(Log, ACompactedLogsHolesArePassed) {
    Scene scene({.topic_config = {{"cleanup.policy", "compact"},
                                  {"segment.ms", "100"},
                                  {"min.cleanable.dirty.ratio", "0.01"},
                                  {"max.compaction.lag.ms", "200"}}});
    // One record key: compaction keeps the last of them in each cleaned segment.
    auto old = scene.make(50, 0);
    for (auto& message : old) message.key = "same";
    scene.kafka().produce(scene.topic(), old);
    auto last = scene.make(1, 0);
    last[0].key = "same";
    // Small rolls, until the cleaner has gone over the old ones.
    int more = 0;
    ASSERT_TRUE(eventually(patience, [&] {
        ++more;
        scene.kafka().produce(scene.topic(), last);
        return scene.kafka().read_all(scene.topic(), 1).size() < 25;
    }));
    scene.count(last);
    scene.start();
    EXPECT_TRUE(eventually(patience, [&] { return scene.next_offset(0) == 50 + more; }));
    EXPECT_LT(scene.applied(), 25);
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM effects WHERE key = 'key-50'"), 1);
}

TEST(Log, TombstonesGoByThePolicy) {
    for (const auto& [policy, column] : {std::pair{TombstonePolicy::skip, "skipped"},
                                         std::pair{TombstonePolicy::reject, "dead_lettered"}}) {
        Scene scene;
        scene.send(5);
        auto tombstones = scene.make(3, 0);
        for (auto& message : tombstones) message.payload.reset();
        scene.kafka().produce(scene.topic(), tombstones);
        scene.send(5);
        WorkerOptions options = scene.options();
        options.topics[0].format.tombstones = policy;
        scene.start(std::move(options));
        scene.expect_all_once();
        EXPECT_EQ(scene.fence(0, std::string("applied, ") + column), "10 3");
        EXPECT_EQ(scene.database().number("SELECT count(*) FROM dead_letters"),
                  policy == TombstonePolicy::reject ? 3 : 0);
    }
}

// The reader leaves payloads alone by then, and what is new among the old is read all the same.
TEST(Log, ATopicProducedASecondTimeIsAllDuplicatesAndWhatIsNewOrBrokenInItIsFound) {
    Scene scene;
    const auto messages = scene.make(400, 0);
    scene.kafka().produce(scene.topic(), messages);
    scene.count(messages);
    WorkerOptions options = scene.options();
    options.batch.messages = 50;
    Worker& worker = scene.start(std::move(options));
    ASSERT_TRUE(scene.all_applied());
    scene.kafka().produce(scene.topic(), messages);
    auto broken = scene.make(1, 0);
    broken.front().payload = "{";
    scene.kafka().produce(scene.topic(), broken);
    scene.send(1);
    scene.kafka().produce(scene.topic(), messages);
    ASSERT_TRUE(eventually(patience, [&] { return worker.status().totals.passed() == 1202; }));
    EXPECT_EQ(worker.status().totals,
              (Totals{.applied = 401, .duplicates = 800, .dead_lettered = 1}));
    scene.expect_exact();
}

}  // namespace
}  // namespace onceward::kafka_tests
