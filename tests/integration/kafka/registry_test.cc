// Topics whose messages name their schema in a registry, while that is there, away, or does not
// know the schema: a worker, a real broker, a real PostgreSQL and a registry in this process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/composition/registries.h"
#include "cli/dlq/redrive.h"
#include "cli/dlq/redrive_plan.h"
#include "tests/integration/kafka/avro_bytes.h"
#include "tests/integration/kafka/scene.h"
#include "tests/integration/kafka/stand_in_registry.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using support::ProducedMessage;
using testing::HasSubstr;

// The scene's messages, framed.
class RegistryScene {
  public:
    explicit RegistryScene(int partitions = 1) : scene({.partitions = partitions}) {
        RegistryConfiguration configuration;
        configuration.name = "main";
        configuration.urls = {registry.url()};
        configuration.unknown_for = 200ms;
        Configuration whole;
        whole.registries = {configuration};
        cache = make_registries(whole).at("main");
    }

    WorkerOptions options() {
        WorkerOptions made = scene.options();
        use(made.topics[0]);
        return made;
    }
    void use(WorkerTopic& topic) {
        topic.format.framing = Framing::confluent;
        topic.schemas = cache;
    }
    std::vector<ProducedMessage> framed(int schema, int messages, int partition = 0) {
        std::vector<ProducedMessage> made = scene.make(messages, partition);
        for (ProducedMessage& message : made) {
            message.payload = kafka_tests::framed(schema, *message.payload);
        }
        return made;
    }
    void send(const std::vector<ProducedMessage>& messages) {
        scene.kafka().produce(scene.topic(), messages);
        scene.count(messages);
    }
    static bool awaits(Worker& worker, std::size_t partitions, const std::string& why = "") {
        return eventually(patience, [&] {
            const auto awaiting = worker.status().awaiting_schema;
            return awaiting.size() == partitions &&
                   std::ranges::all_of(awaiting, [&](const auto& one) {
                       return one.second.find(why) != std::string::npos;
                   });
        });
    }
    std::int64_t letters() { return scene.database().number("SELECT count(*) FROM dead_letters"); }

    StandInRegistry registry;
    std::shared_ptr<SchemaCache> cache;
    Scene scene;
};

TEST(Registry, WhileItIsAwayPartitionsWaitAndNothingIsLostOrRejected) {
    RegistryScene here(2);
    here.registry.give_json(1);
    here.registry.answer_with(503);
    for (const int partition : {0, 1}) here.send(here.framed(1, 100, partition));
    const CapturedLog log;
    Worker& worker = here.scene.start(here.options());
    ASSERT_TRUE(RegistryScene::awaits(worker, 2, "registry `main` answers 503"));
    EXPECT_TRUE(log.says("partition.awaits_schema"));
    // Longer than the session and the poll interval: the member stays in the group.
    EXPECT_TRUE(stays(4s, [&] {
        const Worker::Status status = worker.status();
        return here.scene.applied() == 0 && status.partitions == 2 && status.halted.empty() &&
               status.reading == 2;
    }));
    EXPECT_EQ(log.text().find("partition.revoked"), std::string::npos);
    std::size_t lines = 0;
    for (std::size_t at = 0;
         (at = log.text().find("partition.awaits_schema", at)) != std::string::npos; ++at) {
        ++lines;
    }
    EXPECT_EQ(lines, 2U) << "once for each partition, not for each look or message";

    here.registry.answer_with(200);
    here.scene.expect_all_once();
    EXPECT_TRUE(log.says("partition.schema_known"));
    EXPECT_TRUE(worker.status().awaiting_schema.empty());
    EXPECT_EQ(here.letters(), 0);
    EXPECT_EQ(worker.status().counts.below_fence, 0);
}

TEST(Registry, AnotherTopicOfTheWorkerIsNotHeldUp) {
    RegistryScene here;
    here.registry.answer_with(503);
    WorkerOptions options = here.options();
    const std::string other = here.scene.add_other_topic(options);
    here.send(here.framed(1, 10));
    Worker& worker = here.scene.start(std::move(options));
    ASSERT_TRUE(RegistryScene::awaits(worker, 1, "503"));
    here.scene.kafka().produce(other, here.scene.make(500, 0));
    EXPECT_TRUE(eventually(patience, [&] {
        return here.scene.database().number("SELECT count(*) FROM others") == 500;
    }));
    EXPECT_EQ(here.scene.applied(), 0);
    EXPECT_EQ(worker.status().awaiting_schema.size(), 1U);
}

TEST(Registry, WhatIsBeforeTheAwaitedMessageIsAppliedAndWhatFollowsKeepsItsOrder) {
    RegistryScene here;
    here.registry.give_json(1);
    here.registry.give_json(2);
    here.registry.answer_with(500, "/schemas/ids/2");
    here.send(here.framed(1, 30));
    here.send(here.framed(2, 1));
    here.send(here.framed(1, 30));
    Worker& worker = here.scene.start(here.options());
    ASSERT_TRUE(RegistryScene::awaits(worker, 1, "schema 2, of the message at offset 30"));
    EXPECT_TRUE(eventually(patience, [&] { return here.scene.applied() == 30; }));
    EXPECT_TRUE(stays(500ms, [&] { return here.scene.applied() == 30; }));
    EXPECT_EQ(here.scene.next_offset(0), 30);
    // The wait is the partition's, not the schema's: what arrives meanwhile waits with it.
    here.send(here.framed(1, 30));
    here.registry.answer_with(200, "/schemas/ids/2");
    here.scene.expect_all_once();
    EXPECT_EQ(here.scene.next_offset(0), 91);
    EXPECT_EQ(here.letters(), 0);
}

TEST(Registry, APartitionThatLeavesWhileItWaitsWaitsElsewhere) {
    RegistryScene here(2);
    here.registry.give_json(1);
    here.registry.answer_with(503);
    for (const int partition : {0, 1}) here.send(here.framed(1, 50, partition));
    Worker& first = here.scene.start(here.options());
    ASSERT_TRUE(RegistryScene::awaits(first, 2));
    Worker& second = here.scene.start(here.options());
    ASSERT_TRUE(RegistryScene::awaits(second, 1));
    here.scene.stop(first);
    ASSERT_TRUE(RegistryScene::awaits(second, 2));
    here.registry.answer_with(200);
    here.scene.expect_all_once();
    EXPECT_EQ(here.letters(), 0);
}

TEST(Registry, ASessionThatIsLostWhileAPartitionWaitsChangesNothing) {
    RegistryScene here;
    here.registry.give_json(1);
    here.registry.give_json(2);
    here.registry.answer_with(503, "/schemas/ids/2");
    here.send(here.framed(1, 20));
    here.send(here.framed(2, 20));
    Worker& worker = here.scene.start(here.options());
    ASSERT_TRUE(RegistryScene::awaits(worker, 1));
    ASSERT_TRUE(eventually(patience, [&] { return here.scene.applied() == 20; }));
    const std::string owner = here.scene.fence(0, "owner");
    here.scene.database().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" +
        std::string(support::worker_role) + "'");
    EXPECT_TRUE(eventually(patience, [&] { return here.scene.fence(0, "owner") != owner; }));
    ASSERT_TRUE(RegistryScene::awaits(worker, 1));
    here.registry.answer_with(200, "/schemas/ids/2");
    here.scene.expect_all_once();
    EXPECT_EQ(here.letters(), 0);
}

TEST(Registry, AMessageWhoseSchemaDoesNotExistIsADeadLetterUntilItIsRegisteredAndRedriven) {
    RegistryScene here;
    here.registry.give_json(1);
    const std::vector<ProducedMessage> early = here.framed(9, 1);
    here.scene.kafka().produce(here.scene.topic(), early);
    here.send(here.framed(1, 10));
    const WorkerOptions options = here.options();
    Worker& worker = here.scene.start(options);
    here.scene.expect_all_once();
    ASSERT_TRUE(eventually(patience, [&] { return here.letters() == 1; }));
    const support::Rows letter =
        here.scene.database().execute("SELECT error_class, reason FROM dead_letters");
    ASSERT_EQ(letter.size(), 1U);
    EXPECT_EQ(*letter[0][0], "unknown_schema");
    EXPECT_THAT(*letter[0][1], HasSubstr("registry `main` has no such schema"));
    EXPECT_TRUE(worker.status().awaiting_schema.empty());

    here.registry.give_json(9);
    here.scene.count(early);
    Connection operators(here.scene.schema().owner());
    DeadLetterFilter filter;
    filter.group = here.scene.group();
    filter.topic = here.scene.topic();
    filter.states = {"open"};
    filter.limit = 10;
    RedriveOptions again;
    again.producer = producer_options(options.kafka);
    again.topic = here.scene.topic();
    const RedrivePlan plan = pick_for_redrive(operators, filter, {});
    ASSERT_EQ(plan.letters.size(), 1U);
    // It is remembered for a time that there is no such schema.
    ASSERT_TRUE(eventually(
        patience, [&] { return here.cache->find({9, ""}).state == SchemaAnswer::State::known; }));
    EXPECT_EQ(redrive(operators, plan.letters, again).delivered, 1);
    ASSERT_TRUE(here.scene.all_applied());
    EXPECT_EQ(here.scene.database().number("SELECT count(DISTINCT key) FROM effects"), 11);
    EXPECT_EQ(here.scene.applied(), 11);
}

// The second message's schema has the fields in another order.
TEST(Registry, AvroIsReadByTheSchemaThatEachMessageNames) {
    RegistryScene here;
    const auto give = [&](int id, const std::string& fields) {
        here.registry.give(
            "/schemas/ids/" + std::to_string(id),
            R"("schema":"{\"type\":\"record\",\"name\":\"E\",\"fields\":[)" + fields + R"(]}")");
    };
    const std::string number = R"({\"name\":\"id\",\"type\":\"long\"})";
    const std::string text = R"({\"name\":\"note\",\"type\":\"string\"})";
    give(1, number + "," + text);
    give(2, text + "," + number);
    std::vector<ProducedMessage> messages = here.scene.make(20, 0);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string id(1, static_cast<char>(2 * i));  // zigzag
        const std::string note{"\4hi"};
        messages[i].payload = std::string(1, '\0') +
                              (i % 2 == 0 ? big_endian(1) + id + note : big_endian(2) + note + id);
    }
    here.send(messages);
    WorkerOptions options = here.options();
    options.topics[0].format.format = Format::avro;
    here.scene.start(std::move(options));
    here.scene.expect_all_once();
    EXPECT_EQ(here.scene.database().number("SELECT count(*) FROM effects WHERE key = 'key-' || id"),
              20);
}

TEST(Registry, AGuidInTheHeaderNamesTheSchemaToo) {
    RegistryScene here;
    here.registry.give("/schemas/guids/00112233-4455-6677-8899-aabbccddeeff",
                       R"("schemaType":"JSON","schema":"{}")");
    std::vector<ProducedMessage> messages = here.scene.make(10, 0);
    for (ProducedMessage& message : messages) {
        message.headers.push_back(
            {"__value_schema_id",
             std::string("\x01\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff",
                         17)});
    }
    here.send(messages);
    here.scene.start(here.options());
    here.scene.expect_all_once();
    EXPECT_EQ(here.registry.asked(), 1U);
}

}  // namespace
}  // namespace onceward::kafka_tests
