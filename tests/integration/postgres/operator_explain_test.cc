// `onceward explain`: which ledgers its answer is of, and since when they know.

#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

// Ledger `orders` is the group's own. Other groups read a topic of that name into younger ledgers,
// and one that the group fed before was retired.
class ExplainOfLedgers : public Operator {
  protected:
    ExplainOfLedgers() {
        Connection worker(schema_.worker());
        for (const char* other : {"shipping", "archive"}) {
            register_ledger(worker, {.name = other}, other, "orders");
        }
        register_ledger(worker, {.name = "old"}, "billing", "orders");
        database().execute(
            "UPDATE ledger_feeds f SET retired_at = now() FROM ledgers l "
            "WHERE l.ledger = f.ledger AND l.name = 'old'; "
            "UPDATE generations SET created_at = make_date(2025, ledger, 1)");
    }
    Outcome explain(std::vector<std::string> more) {
        more.insert(more.begin(), {"explain", "k-9", "--topic", "orders", "--tenant", "acme"});
        return run(std::move(more));
    }

    const Configured configured_{"localhost:1", "    ledger: {name: orders}\n"};
};

TEST_F(ExplainOfLedgers, OnlyThoseOfTheOwnGroupSaySinceWhenAKeyIsNotApplied) {
    for (const std::vector<std::string>& whose :
         {std::vector<std::string>{"-c", configured_.file()}, {"--group", "billing"}}) {
        const Outcome text = explain(whose);
        EXPECT_EQ(text.exit_code, 3) << text.output;
        EXPECT_THAT(text.output,
                    HasSubstr("not applied in ledger orders, whose claims go back to 2025-01-01"));
        std::vector<std::string> in_json = whose;
        in_json.emplace_back("--json");
        auto told = explain(in_json).json();
        EXPECT_EQ(told["claims_since"].get<std::string>().substr(0, 10), "2025-01-01");
        ASSERT_EQ(told["ledgers"].size(), 1U) << told;
        EXPECT_EQ(told["ledgers"][0]["ledger"], "orders");
        EXPECT_EQ(told["ledgers"][0]["claims_since"], told["claims_since"]);
    }
}

// The other group's operation is configured to be the same, so that its keys have the same digests.
TEST_F(ExplainOfLedgers, AClaimOfAnotherGroupsLedgerIsNotTheOwnGroupsAndIsShown) {
    database().execute(
        "INSERT INTO claims_2_1 (digest, record_offset, partition, source) VALUES ($1, 7, 0, 2)",
        {uuid_of("field:/id", "k-9", "acme")});
    const Outcome elsewhere = explain({"-c", configured_.file()});
    EXPECT_EQ(elsewhere.exit_code, 3) << elsewhere.output;
    EXPECT_THAT(elsewhere.output, HasSubstr("not applied in ledger orders, whose claims go back"));
    EXPECT_THAT(elsewhere.output, HasSubstr("ledger shipping generation 1"));
    EXPECT_EQ(explain({"-c", configured_.file(), "--json"}).json()["applied"], false);
    claim(1, uuid_of("field:/id", "k-9", "acme"), 8);
    const Outcome own = explain({"-c", configured_.file()});
    EXPECT_EQ(own.exit_code, 0) << own.output;
    EXPECT_THAT(own.output, testing::Not(HasSubstr("not applied")));
}

}  // namespace
}  // namespace onceward::operator_tests
