// `onceward ledger convert`: a dry run, the conversion itself, and what it refuses.

#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

class ConversionByHand : public Operator {
  protected:
    std::vector<std::string> convert(const Configured& configured,
                                     std::vector<std::string> more = {}) {
        std::vector<std::string> all{"ledger", "convert", "billing/orders", "--to",
                                     "log",    "-c",      configured.file()};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    ConversionByHand() {
        Connection worker(schema_.worker());
        ledger_ = register_ledger(worker, {.name = "billing/orders"}, "billing", "orders").ledger;
        for (int i = 0; i < 3; ++i) {
            claim(i < 2 ? 1 : 2, uuid_of("record_key", "k-" + std::to_string(i)), i);
            if (i == 1) rotate(1);
        }
    }
    std::string store() {
        return database().value("SELECT store FROM ledgers WHERE name = 'billing/orders'");
    }
};

constexpr const char* automatic = "    ledger: {store: auto}\n";

// One that was made before new ones were logs.
TEST_F(ConversionByHand, OfATopicThatSaysNoStoreNeedsNoOtherConfiguration) {
    const Configured configured("nowhere:1");
    const Outcome done = run_as_owner(convert(configured, {"--yes", "--reason", "faster"}));
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(store(), "log");
}

TEST_F(ConversionByHand, SaysWhatItWouldDoAndDoesItWithYes) {
    const Configured configured("nowhere:1", automatic);
    const Outcome dry = run(convert(configured));
    EXPECT_EQ(dry.exit_code, 0) << dry.output;
    EXPECT_THAT(dry.output, HasSubstr("ledger billing/orders, fed by group billing topic orders"));
    EXPECT_THAT(dry.output, HasSubstr("3 claims in 2 generations, of which 0 are ready"));
    EXPECT_THAT(dry.output, HasSubstr("do it with --yes"));
    EXPECT_EQ(store(), "table");
    const Outcome done =
        run_as_owner(convert(configured, {"--yes", "--reason", "memory is cheap"}));
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr("generation 1: ready, with 2 claims"));
    EXPECT_THAT(
        done.output,
        testing::ContainsRegex(
            "ledger billing/orders is a log: 3 claims, 2 segments; claims waited for [0-9]+ ms"));
    EXPECT_EQ(store(), "log");
    EXPECT_EQ(database().value("SELECT reason || ' ' || outcome FROM audit_log WHERE act = "
                               "'ledger convert'"),
              "memory is cheap done");
    // A run that was killed after the switch left it out.
    const std::string filters = "filters_" + std::to_string(ledger_) + "_2";
    database().execute("DELETE FROM " + filters);
    const Outcome again = run_as_owner(convert(configured, {"--yes", "--json"}));
    EXPECT_EQ(again.exit_code, 0) << again.output;
    EXPECT_EQ(again.last_json()["store"], "log");
    EXPECT_EQ(database().number("SELECT count(*) FROM " + filters), 1) << "it is written again";
    // What explain finds of it is the batch.
    EXPECT_EQ(database().number("SELECT count(*) FROM segments"), 2);
}

TEST_F(ConversionByHand, RefusesWithTheReason) {
    const Configured tables("nowhere:1", "    ledger: {store: table}\n");
    const Outcome table = run_as_owner(convert(tables, {"--yes"}));
    EXPECT_EQ(table.exit_code, 1) << table.output;
    EXPECT_THAT(table.output, HasSubstr("by the configuration ledger billing/orders is a `table`"));
    EXPECT_THAT(table.output, HasSubstr("write `store: auto`, restart the workers"));
    const Configured configured("nowhere:1", automatic);
    const Outcome worker = run(convert(configured, {"--yes"}));
    EXPECT_EQ(worker.exit_code, 1) << worker.output;
    EXPECT_THAT(worker.output, HasSubstr("connect as the schema's owner"));
    EXPECT_EQ(run_as_owner({"ledger", "convert", "billing/orders", "--to", "log"}).exit_code, 64);
    database().execute("UPDATE ledgers SET stores_results = true");
    const Outcome results = run_as_owner(convert(configured, {"--yes"}));
    EXPECT_EQ(results.exit_code, 1) << results.output;
    EXPECT_THAT(results.output, HasSubstr("stores results"));
    EXPECT_EQ(store(), "table");
}

}  // namespace
}  // namespace onceward::operator_tests
