// The function sink, with rows in the messages' order and with rows that say which message they are
// of.

#include "sinks/function/function_sink.h"

#include "tests/conformance/sink_suite.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

class FunctionHarness final : public SinkHarness {
  public:
    explicit FunctionHarness(bool numbered) {
        schema_.user_table("target",
                           "position bigint GENERATED ALWAYS AS IDENTITY, number integer PRIMARY "
                           "KEY, amount integer CHECK (amount > 0)");
        options_.function = schema_.name() + ".take";
        options_.columns = {{"number", {FieldSource::Kind::field, "/number"}},
                            {"amount", {FieldSource::Kind::field, "/amount"}}};
        const std::string columns = numbered ? "ordinality bigint, done integer" : "done integer";
        const std::string rows = numbered ? "m.place, (m.document ->> 'number')::integer"
                                          : "(m.document ->> 'number')::integer";
        schema_.database().execute(
            "CREATE FUNCTION take(messages jsonb[]) RETURNS TABLE (" + columns +
            ") LANGUAGE plpgsql SET search_path = " + schema_.name() +
            " AS $$ BEGIN INSERT INTO target (number, amount) SELECT (m.document ->> "
            "'number')::integer, (m.document ->> 'amount')::integer FROM unnest(messages) WITH "
            "ORDINALITY AS m (document, place) ORDER BY m.place; RETURN QUERY SELECT " +
            rows +
            " FROM unnest(messages) WITH ORDINALITY AS m (document, place) ORDER BY m.place " +
            (numbered ? "DESC" : "") + "; END $$");
    }
    std::unique_ptr<Sink> make_sink() override { return std::make_unique<FunctionSink>(options_); }
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
    FunctionSinkOptions options_;
};

SinkCase function_case(const std::string& name, bool numbered) {
    return {name, [=] { return std::make_unique<FunctionHarness>(numbered); }};
}

INSTANTIATE_TEST_SUITE_P(Function, SinkConformance,
                         testing::Values(function_case("function", false),
                                         function_case("function_with_ordinality", true)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace onceward::support
