// Keys, errors and the version of the SQL functions.

#include <gtest/gtest.h>

#include "inbox/cpp/claim.h"
#include "inbox/cpp/lease.h"
#include "support.h"

namespace onceward::pqxx {
namespace {

using namespace std::chrono_literals;

TEST(Uuids, AreReadInEitherCaseAndWrittenInLowerCase) {
    const std::string text = "0192f0a4-7b2c-7def-8123-456789abcdef";
    EXPECT_EQ(Uuid::parse(text).text(), text);
    EXPECT_EQ(Uuid::parse("0192F0A4-7B2C-7DEF-8123-456789ABCDEF").text(), text);
    for (const char* wrong : {"", "0192f0a4", "0192f0a47b2c7def8123456789abcdef00000",
                              "0192f0a4-7b2c-7def-8123-456789abcdeg",
                              "0192f0a4-7b2c-7def-8123+456789abcdef"}) {
        EXPECT_EQ(refusal_of([&] { Uuid::parse(wrong); }), "OW004") << wrong;
    }
}

TEST(Uuids, OfVersion7CarryTheirTime) {
    const auto before = std::chrono::system_clock::now() - 1ms;
    const std::string key = uuid7().text();
    const auto minted_at = minted_at_of_uuid7(key);
    ASSERT_TRUE(minted_at) << key;
    EXPECT_GE(*minted_at, before);
    EXPECT_LE(*minted_at, std::chrono::system_clock::now());
    EXPECT_NE(uuid7(), uuid7());
}

TEST(Uuids, OfOtherVersionsCarryNoTime) {
    EXPECT_EQ(minted_at_of_uuid7(Uuid::random().text()), std::nullopt);
    EXPECT_EQ(minted_at_of_uuid7("order-17"), std::nullopt);
    // Version 7 with the variant of another RFC.
    EXPECT_EQ(minted_at_of_uuid7("0192f0a4-7b2c-7def-c123-456789abcdef"), std::nullopt);
    EXPECT_EQ(minted_at_of_uuid7("00000000-03e8-7def-8123-456789abcdef"), Time(1000ms));
}

class Refusals : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { set_up_database(); }

    ::pqxx::connection connection_{dsn()};
    ::pqxx::work transaction_{connection_};
};

TEST_F(Refusals, SayWhyInAnEnumAndInTheDatabasesWords) {
    try {
        claim(transaction_, {.operation = new_operation(), .ledger = "no such ledger"}, "k");
        FAIL() << "it was not refused";
    } catch (const Refused& refused) {
        EXPECT_EQ(refused.why(), Refusal::ledger);
        EXPECT_EQ(refused.sqlstate(), "OW002");
        EXPECT_NE(std::string(refused.what()).find("no such ledger"), std::string::npos);
    }
}

TEST_F(Refusals, OfOtherCausesPassAsTheyAre) {
    EXPECT_THROW(transaction_.exec("SELECT 1 / 0"), ::pqxx::sql_error);
    try {
        claim(transaction_, {.operation = new_operation(), .ledger = "cpp_calls"}, "k");
        FAIL() << "it was not refused";
    } catch (const Refused&) {
        FAIL() << "an aborted transaction is the database's own error";
    } catch (const ::pqxx::sql_error& error) {
        EXPECT_EQ(error.sqlstate(), "25P02");
    }
}

TEST_F(Refusals, AHeaderThatIsNotUtf8IsAnArgument) {
    const Inbox inbox{.operation = new_operation(), .ledger = "cpp_calls"};
    const Claim claimed = claim(transaction_, inbox, "k");
    EXPECT_EQ(refusal_of([&] {
                  finish(transaction_, inbox, claimed, {.headers = {{"x", "\xff"}}});
              }),
              "OW004");
}

TEST_F(Refusals, ALedgerThatIsNotNamedIsThatOfTheFunction) {
    ::pqxx::connection connection(dsn());
    ::pqxx::nontransaction session(connection);
    session.exec("SELECT onceward.register_ledger('inbox')");
    session.exec("SELECT onceward.register_ledger('inbox_leases', 'lease')");
    const Inbox inbox{.operation = new_operation()};
    finish(transaction_, inbox, claim(transaction_, inbox, "k"));
    const Lease taken = lease(transaction_, inbox, "k");
    EXPECT_TRUE(extend_lease(transaction_, inbox, taken, 1s));
    EXPECT_TRUE(end_lease(transaction_, inbox, taken));
    EXPECT_TRUE(release_lease(transaction_, inbox, lease(transaction_, inbox, "other")));
}

TEST_F(Refusals, ATextThatIsMissingOrHasANulIsAnArgument) {
    using namespace std::string_literals;
    const Inbox inbox{.operation = new_operation(), .tenant = "acme", .ledger = "cpp_calls"};
    finish(transaction_, inbox, claim(transaction_, inbox, "k"), {.body = "of acme"});
    std::vector<Inbox> others(7, inbox);
    others[0].operation += "\0x"s;
    others[1].kind += "\0x"s;
    others[2].tenant += "\0x"s;
    others[3].ledger += "\0x"s;
    others[4].schema += "\0x"s;
    others[5].operation.clear();
    others[6].kind.clear();
    for (const Inbox& other : others) {
        EXPECT_EQ(refusal_of([&] { claim(transaction_, other, "k"); }), "OW004");
        EXPECT_EQ(refusal_of([&] { lease(transaction_, other, "k"); }), "OW004");
    }
    // Nothing was sent, so the transaction continues.
    EXPECT_EQ(claim(transaction_, inbox, "k").outcome, Outcome::duplicate);
}

TEST_F(Refusals, ATextThatIsNotUtf8IsAnArgument) {
    const Inbox inbox{.operation = new_operation(), .tenant = "caf\xc3\xa9", .ledger = "cpp_calls"};
    finish(transaction_, inbox, claim(transaction_, inbox, "k"));
    // A byte of no character, one without its second, a `/` of two bytes, and half of a pair.
    for (const char* wrong : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80"}) {
        std::vector<Inbox> others(5, inbox);
        others[0].operation += wrong;
        others[1].kind += wrong;
        others[2].tenant += wrong;
        others[3].ledger += wrong;
        others[4].schema += wrong;
        for (const Inbox& other : others) {
            EXPECT_EQ(refusal_of([&] { claim(transaction_, other, "k"); }), "OW004");
            EXPECT_EQ(refusal_of([&] { lease(transaction_, other, "k"); }), "OW004");
        }
    }
    // Nothing was sent, so the transaction continues.
    EXPECT_EQ(claim(transaction_, inbox, "k").outcome, Outcome::duplicate);
}

TEST_F(Refusals, ATextMayHaveTheEncodingOfItsConnection) {
    ::pqxx::connection connection(dsn());
    connection.set_client_encoding("LATIN1");
    ::pqxx::work transaction(connection);
    Inbox inbox{.operation = new_operation(), .tenant = "caf\xe9", .ledger = "cpp_calls"};
    finish(transaction, inbox, claim(transaction, inbox, "k"));
    transaction.commit();
    inbox.tenant = "caf\xc3\xa9";
    EXPECT_EQ(claim(transaction_, inbox, "k").outcome, Outcome::duplicate);
}

TEST_F(Refusals, ClaimsOfTwoAttemptsAreNotFinishedAtOnce) {
    const Inbox inbox{.operation = new_operation(), .ledger = "cpp_calls"};
    const std::vector<Claim> two{claim(transaction_, inbox, "a"), claim(transaction_, inbox, "b")};
    EXPECT_EQ(refusal_of([&] { finish_many(transaction_, inbox, two); }), "OW004");
}

TEST_F(Refusals, AClaimWithoutATransactionIsAnArgument) {
    Inbox inbox{.operation = new_operation(), .ledger = "cpp_calls"};
    const std::vector<Claim> claims{claim(transaction_, inbox, "k")};
    const std::vector<std::string> keys{"k"};
    ::pqxx::connection connection(dsn());
    ::pqxx::nontransaction alone(connection);
    EXPECT_EQ(refusal_of([&] { claim(alone, inbox, "k"); }), "OW004");
    EXPECT_EQ(refusal_of([&] { finish(alone, inbox, claims[0]); }), "OW004");
    EXPECT_EQ(refusal_of([&] { claim_many(alone, inbox, keys); }), "OW004");
    EXPECT_EQ(refusal_of([&] { finish_many(alone, inbox, claims); }), "OW004");
    // A call of a lease may be alone.
    inbox.ledger = "cpp_leases";
    EXPECT_TRUE(release_lease(alone, inbox, lease(alone, inbox, "k")));
}

TEST_F(Refusals, ASchemaWithoutAnInboxIsAnotherVersion) {
    try {
        claim(transaction_, {.operation = new_operation(), .schema = "pg_catalog"}, "k");
        FAIL() << "it was not refused";
    } catch (const Refused& refused) {
        EXPECT_EQ(refused.why(), Refusal::version);
        EXPECT_NE(std::string(refused.what()).find("migrate up"), std::string::npos);
    }
}

TEST_F(Refusals, ASchemaOfALaterVersionIsAnotherVersion) {
    transaction_.exec("CREATE SCHEMA \"cpp later\"");
    transaction_.exec(
        "CREATE FUNCTION \"cpp later\".inbox_version() RETURNS integer RETURN 2");
    try {
        claim(transaction_, {.operation = new_operation(), .schema = "cpp later"}, "k");
        FAIL() << "it was not refused";
    } catch (const Refused& refused) {
        EXPECT_EQ(refused.why(), Refusal::version);
        EXPECT_NE(std::string(refused.what()).find("upgrade the library"), std::string::npos);
    }
}

}  // namespace
}  // namespace onceward::pqxx
