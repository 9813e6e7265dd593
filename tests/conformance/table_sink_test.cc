// The table sink in each of its ways to write. Where ONCEWARD_TEST_CITUS says how a table is
// distributed, the table of each test is so, on the server of ONCEWARD_TEST_POSTGRES, and all ways
// are by VALUES.

#include "sinks/table/table_sink.h"

#include "tests/conformance/sink_suite.h"
#include "tests/support/citus.h"
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
        const bool citus = distributed_on_citus(schema_, options_.table, "number");
        if (!citus && options_.transport == TableSinkOptions::Transport::values) {
            refuse_all_but_values(schema_, options_.table);
        }
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
                                         with("upsert", Mode::upsert, Transport::copy),
                                         with("values", Mode::insert, Transport::values),
                                         with("upsert_by_values", Mode::upsert,
                                              Transport::values)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace onceward::support
