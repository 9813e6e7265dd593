// The outbox as a sink, and in addition to the table sink.

#include "sinks/outbox/outbox_sink.h"

#include "sinks/table/table_sink.h"
#include "tests/conformance/sink_suite.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

OutboxOptions outbox_options() {
    OutboxOptions options;
    options.topic = "published";
    return options;
}

std::vector<int> numbers_of(const Rows& rows) {
    std::vector<int> numbers;
    for (const Row& row : rows) numbers.push_back(std::stoi(row[0].value()));
    return numbers;
}

class OutboxHarness : public SinkHarness {
  public:
    OutboxHarness() {
        schema_.database().execute(
            "ALTER TABLE outbox ADD CONSTRAINT payload_good CHECK (payload <> 'poison')");
    }
    std::unique_ptr<Sink> make_sink() override {
        return std::make_unique<OutboxSink>(outbox_options());
    }
    ConnectionOptions connection() override { return schema_.worker(); }
    void add_message(TestMessages& messages, int wanted) override {
        messages.add({text("key"), text(std::to_string(wanted))});
    }
    void add_poison(TestMessages& messages) override {
        messages.add({text("key"), text("poison")});
    }
    std::vector<int> effects() override {
        return numbers_of(schema_.database().execute(
            "SELECT convert_from(payload, 'UTF8') FROM outbox WHERE topic = 'published' AND "
            "consumer_group = 'conformance_group' ORDER BY position"));
    }

  protected:
    FreshSchema schema_;
};

// Each message in both places or in neither.
class AlsoPublishHarness final : public OutboxHarness {
  public:
    AlsoPublishHarness() {
        table_.table = schema_.user_table(
            "target", "position bigint GENERATED ALWAYS AS IDENTITY, number integer PRIMARY KEY");
        table_.columns = {{"number", {FieldSource::Kind::field, "/number"}}};
    }
    std::unique_ptr<Sink> make_sink() override {
        return std::make_unique<AlsoPublishSink>(std::make_unique<TableSink>(table_),
                                                 outbox_options());
    }
    void add_message(TestMessages& messages, int wanted) override {
        messages.add({integer(wanted), text("key"), text(std::to_string(wanted))});
    }
    void add_poison(TestMessages& messages) override {
        messages.add({integer(2), text("key"), text("poison")});
    }
    std::vector<int> effects() override {
        const std::vector<int> published = OutboxHarness::effects();
        const std::vector<int> written =
            numbers_of(schema_.database().execute("SELECT number FROM target ORDER BY position"));
        EXPECT_EQ(published, written);
        return published;
    }

  private:
    TableSinkOptions table_;
};

INSTANTIATE_TEST_SUITE_P(
    Outbox, SinkConformance,
    testing::Values(SinkCase{"sink", [] { return std::make_unique<OutboxHarness>(); }},
                    SinkCase{"also_publish",
                             [] { return std::make_unique<AlsoPublishHarness>(); }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace onceward::support
