// A fail-over may lose the rows that registered a route's ledger, and give its number to another.

#include "dedup/ledger/ledger.h"
#include "tests/integration/gateway/route_scene.h"

namespace onceward::operator_tests {
namespace {

class RouteRegistration : public RouteScene {
  protected:
    // As the primary that was promoted: two other ledgers have the routes' numbers.
    void fail_over() {
        database().execute(
            "DO $$ DECLARE made text; BEGIN FOR made IN SELECT tablename FROM pg_tables WHERE "
            "schemaname = current_schema() AND tablename ~ '^(claims|results)_[0-9]' LOOP "
            "EXECUTE 'DROP TABLE ' || made; END LOOP; END $$; "
            "TRUNCATE ledgers, ledger_feeds, generations RESTART IDENTITY CASCADE");
        Connection worker(schema_.worker());
        for (int number = 1; number <= 2; ++number) {
            LedgerOptions foreign;
            foreign.name = "foreign " + std::to_string(number);
            foreign.store = store_of_[number];
            foreign.stores_results = true;
            ASSERT_EQ(register_ledger(worker, foreign, "others", "topic").ledger, number);
        }
        database().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" +
            std::string(support::worker_role) + "'");
    }
    // The stores of the ledgers with the numbers 1 and 2.
    std::map<int, StoreKind> store_of_;
    void look_at_stores() {
        for (int number = 1; number <= 2; ++number) {
            store_of_[number] = database().value("SELECT store FROM ledgers WHERE ledger = " +
                                                 std::to_string(number)) == "lease"
                                    ? StoreKind::lease
                                    : StoreKind::table;
        }
    }
    int number_of(const std::string& name) {
        return static_cast<int>(
            database().number("SELECT ledger FROM ledgers WHERE name = '" + name + "'"));
    }
};

TEST_F(RouteRegistration, AfterAFailOverThatLostItALedgerIsRegisteredAgain) {
    ASSERT_EQ(order("before").status, 204);
    ASSERT_EQ(charge("before", "yes").status, 201);
    look_at_stores();
    fail_over();
    EXPECT_EQ(order("after").status, 204);
    EXPECT_EQ(charge("after", "yes").status, 201);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_" +
                                std::to_string(number_of("orders")) + "_1"),
              1);
    EXPECT_EQ(database().number("SELECT count(*) FROM leases WHERE ledger = " +
                                std::to_string(number_of("charges"))),
              1);
    EXPECT_GT(number_of("orders"), 2);
    EXPECT_GT(number_of("charges"), 2);
    EXPECT_TRUE(order("after").headers.contains("idempotent-replayed"));
    EXPECT_TRUE(charge("after", "yes").headers.contains("idempotent-replayed"));
}

}  // namespace
}  // namespace onceward::operator_tests
