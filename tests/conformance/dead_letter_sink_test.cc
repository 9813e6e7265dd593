// The dead letters are a sink like any other.

#include "sinks/dead_letters/dead_letter_sink.h"

#include "tests/conformance/sink_suite.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

class DeadLetterHarness final : public SinkHarness {
  public:
    DeadLetterHarness() {
        schema_.database().execute(
            "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, "
            "first_offset, "
            "next_offset) VALUES ('conformance_group', 'conformance_topic', 0, gen_random_uuid(), "
            "gen_random_uuid(), 0, 0)");
    }
    std::unique_ptr<Sink> make_sink() override { return std::make_unique<DeadLetterSink>(); }
    ConnectionOptions connection() override { return schema_.worker(); }
    void add_message(TestMessages& messages, int number) override {
        reject(messages.add({}), Partition{0}, number);
    }
    // Without a fence nobody can tell which log the offset belongs to.
    void add_poison(TestMessages& messages) override { reject(messages.add({}), Partition{9}, 2); }
    std::vector<int> effects() override {
        std::vector<int> numbers;
        for (const Row& row : schema_.database().execute(
                 "SELECT record_offset FROM dead_letters ORDER BY dead_letter")) {
            numbers.push_back(std::stoi(row[0].value()));
        }
        return numbers;
    }

  private:
    static void reject(Message& message, Partition partition, int number) {
        message.record.partition = partition;
        message.record.offset = Offset{number};
        message.rejection = Rejection{.reason = "for the test", .sqlstate = ""};
    }
    FreshSchema schema_;
};

INSTANTIATE_TEST_SUITE_P(DeadLetters, SinkConformance,
                         testing::Values(SinkCase{
                             "dead_letters", [] { return std::make_unique<DeadLetterHarness>(); }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace onceward::support
