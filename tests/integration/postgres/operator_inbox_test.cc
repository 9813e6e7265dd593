// What operators do for the inbox: they grant it, and ask what became of its keys.

#include "cli/admin/group_totals.h"
#include "cli/admin/verdicts.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/eventually.h"

namespace onceward::operator_tests {
namespace {

class OperatorInbox : public testing::Test {
  protected:
    OperatorInbox() {
        database().execute("SELECT register_ledger('payments')");
        database().execute(
            "BEGIN; SELECT finish(digest, attempt, 201, body => 'paid', ledger => 'payments') "
            "FROM claim('pay', '', 'id', 'order-17', ledger => 'payments'); COMMIT");
    }
    Database& database() { return schema_.database(); }
    Outcome on_schema(std::vector<std::string> arguments) {
        for (const std::string& more : {std::string("--dsn"), schema_.server().dsn,
                                        std::string("--schema"), schema_.name()}) {
            arguments.push_back(more);
        }
        return onceward(arguments);
    }
    FreshSchema schema_;
};

TEST_F(OperatorInbox, AKeysClaimAndItsResultAreExplained) {
    const Outcome found = on_schema({"explain", "--operation", "pay", "order-17"});
    EXPECT_EQ(found.exit_code, 0) << found.output;
    EXPECT_THAT(found.output, HasSubstr("from a call of the inbox in transaction "));
    EXPECT_THAT(found.output, HasSubstr("key kind id, ledger payments generation 1"));
    EXPECT_THAT(found.output, HasSubstr("result: done, status 201, 4 bytes"));
    const Outcome unknown = on_schema({"explain", "--operation", "pay", "order-18"});
    EXPECT_EQ(unknown.exit_code, 3) << unknown.output;
    EXPECT_THAT(unknown.output, HasSubstr("not applied in ledger payments"));
}

// The inbox has no process of its own: any process on its server has its metrics, from the tables.
TEST_F(OperatorInbox, AProcessOfAnyGroupHasTheMetricsOfItsLedgers) {
    database().execute("UPDATE ledgers SET memory_begins = '2026-01-01 00:00:00Z'");
    database().execute("SELECT register_ledger('calls', 'lease')");
    database().execute("SELECT lease('charge', '', 'id', k, ledger => 'calls', hold => h) FROM "
                       "(VALUES ('a', interval '1 hour'), ('b', '1 ms')) AS wanted (k, h)");
    support::Database forgotten(schema_.server().dsn);
    forgotten.execute("SET search_path = " + schema_.name());
    forgotten.execute("BEGIN; SELECT claim('pay', '', 'id', 'other', ledger => 'payments')");
    GroupTotals totals(schema_.worker(), "shop", std::chrono::seconds(0));
    ProcessStatus status;
    status.group = "shop";
    const auto read = [&] {
        return support::eventually(std::chrono::seconds(20), [&] {
            status.durable = totals.get();
            return status.durable.has_value();
        });
    };
    ASSERT_TRUE(read());
    std::string text = metrics_text(status);
    const std::string of = "{group=\"inbox\",ledger=\"payments\"} ";
    EXPECT_THAT(text, HasSubstr("onceward_ledger_claims" + of + "1\n")) << "what is committed";
    EXPECT_THAT(text, HasSubstr("onceward_ledger_open_transactions" + of + "1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_open_transaction_seconds" + of));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_results_bytes" + of + "3"))
        << "a page of its rows, two of its index, and TOAST's";
    EXPECT_THAT(text,
                HasSubstr("onceward_ledger_memory_begins_timestamp_seconds" + of + "1767225600\n"));
    const std::string calls = "{group=\"inbox\",ledger=\"calls\",state=";
    EXPECT_THAT(text, HasSubstr("onceward_leases_in_flight" + calls + "\"held\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_leases_in_flight" + calls + "\"waiting\"} 1\n"));
    forgotten.execute("ROLLBACK");
    ASSERT_TRUE(support::eventually(std::chrono::seconds(20), [&] {
        return read() && metrics_text(status).find("onceward_ledger_open_transactions" + of +
                                                   "0\n") != std::string::npos;
    }));
}

TEST_F(OperatorInbox, MigrateGrantsTheFunctionsAndNoTable) {
    const std::string role = support::unique_name("inbox_app");
    database().execute("CREATE ROLE " + role);
    const Outcome granted = on_schema(
        {"migrate", "up", "--grant-inbox-to", role, "--ledger", "payments", "--operation", "pay"});
    EXPECT_EQ(granted.exit_code, 0) << granted.output;
    EXPECT_THAT(granted.output,
                HasSubstr("granted to " + role + " the inbox of ledger payments for pay"));
    database().execute("SET ROLE " + role);
    EXPECT_EQ(database().value("SELECT outcome FROM claim('pay', '', 'id', 'order-17', "
                               "ledger => 'payments')"),
              "duplicate");
    EXPECT_THROW(database().execute("SELECT * FROM claims_1_1"), support::DatabaseError);
    database().execute("RESET ROLE");
    EXPECT_EQ(on_schema({"migrate", "up", "--grant-inbox-to", role}).exit_code, 64)
        << "of which ledger?";
    database().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

}  // namespace
}  // namespace onceward::operator_tests
