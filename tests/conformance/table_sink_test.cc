// The table sink in each of its three ways to write.

#include "sinks/table/table_sink.h"

#include "tests/conformance/sink_suite.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

class TableHarness final : public SinkHarness {
  public:
    explicit TableHarness(TableSinkOptions options) : options_(std::move(options)) {
        options_.table = schema_.user_table(
            "target",
            "position bigint GENERATED ALWAYS AS IDENTITY, number integer PRIMARY KEY, "
            "amount integer CONSTRAINT amount_positive CHECK (amount > 0)");
        options_.columns = {{"number", {FieldSource::Kind::field, "/number"}},
                            {"amount", {FieldSource::Kind::field, "/amount"}}};
    }
    std::unique_ptr<Sink> make_sink() override { return std::make_unique<TableSink>(options_); }
    ConnectionOptions connection() override { return schema_.worker(); }
    void add_message(TestMessages& messages, int wanted) override {
        messages.add({integer(wanted), number("7")});
    }
    void add_poison(TestMessages& messages) override { messages.add({integer(2), number("-7")}); }
    std::vector<int> effects() override {
        std::vector<int> numbers;
        for (const Row& row :
             schema_.database().execute("SELECT number FROM target ORDER BY position")) {
            numbers.push_back(std::stoi(row[0].value()));
        }
        return numbers;
    }

  private:
    FreshSchema schema_;
    TableSinkOptions options_;
};

SinkCase with(const std::string& name, TableSinkOptions::Mode mode,
              TableSinkOptions::Transport transport) {
    return {name, [=] {
                TableSinkOptions options;
                options.mode = mode;
                options.transport = transport;
                if (mode == TableSinkOptions::Mode::upsert) options.conflict_target = {"number"};
                return std::make_unique<TableHarness>(options);
            }};
}

using Mode = TableSinkOptions::Mode;
using Transport = TableSinkOptions::Transport;

INSTANTIATE_TEST_SUITE_P(Table, SinkConformance,
                         testing::Values(with("copy", Mode::insert, Transport::copy),
                                         with("unnest", Mode::insert, Transport::unnest),
                                         with("upsert", Mode::upsert, Transport::copy)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace onceward::support
