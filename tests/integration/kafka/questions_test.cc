// What a writer asks the brokers while its reader waits at the end of a log.

#include <gtest/gtest.h>

#include "consumer/kafka/kafka_source.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

struct Held final : SourceListener {
    bool any = false;
    void assigned(const std::vector<TopicPartition>&) override { any = true; }
    void revoked(const std::vector<TopicPartition>&, bool) override {}
    void out_of_range(const TopicPartition&) override {}
    void unreadable(const UnreadableRecords&) override {}
    void awaits_schema(const AwaitedRecord&) override {}
    void partition_failed(const TopicPartition&, int, const std::string&) override {}
};

class NoSink final : public Sink {
  public:
    void write(Transaction&, const BatchContext&, std::span<const Message* const>) override {}
};

// Brokers answer the requests of one connection in turn: after the fetch that follows the message
// a question would take 8 s.
TEST(Questions, DoNotWaitForTheFetchThatIsHeldAtALogsEnd) {
    Scene scene;
    scene.send(1);
    KafkaOptions kafka = scene.options().kafka;
    kafka.properties["fetch.wait.max.ms"] = Secret("8000");
    Held listener;
    NoSink sink;
    MessageBuilder builder({scene.group(), scene.topic(), {}, {}}, sink);
    KafkaSource source(kafka, 0, {scene.topic()}, listener);
    source.join();
    const TopicPartition partition{scene.topic(), Partition{0}};
    bool begun = false;
    ASSERT_TRUE(support::eventually(patience, [&] {
        source.serve();
        if (!begun) begun = listener.any && source.begin(partition, Offset{0}, LeaderEpoch{-1});
        return begun && !source.read(0, 10, builder).spans.empty();
    }));
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(source.queries().range(partition).latest, Offset{1});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
    source.close();
}

}  // namespace
}  // namespace onceward::kafka_tests
