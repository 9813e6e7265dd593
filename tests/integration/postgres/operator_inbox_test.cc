// What operators do for the inbox: they grant it, and ask what became of its keys.

#include "tests/integration/postgres/operator_scene.h"

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
