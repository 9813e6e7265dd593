// register_ledger(): a service calls it at each start, also while generations are sealed.

#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <utility>

#include "dedup/ledger/ledger.h"
#include "dedup/once.h"
#include "tests/integration/dedup/inbox/inbox_scene.h"
#include "tests/support/one_waits.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class InboxRegisterTest : public InboxTest {
  protected:
    std::string state(const std::string& call) {
        return sqlstate_of([&] { session_.database.execute("SELECT " + call); });
    }
    std::string number(const std::string& ledger) {
        return database().value("SELECT ledger FROM ledgers WHERE name = '" + ledger + "'");
    }
    // Runs `first` in a transaction of the one session and `second` in the other, and commits the
    // one when the other waits for it. Answers with whether it waited, and the second's SQLSTATE.
    std::pair<bool, std::string> one_after_the_other(const std::string& first,
                                                     const std::string& second) {
        session_.begin();
        session_.database.execute("SELECT " + first);
        std::string ended;
        std::thread waiting(
            [&] { ended = sqlstate_of([&] { other_.database.execute("SELECT " + second); }); });
        const bool waited = waits_for_a_lock(database(), other_.database.pid());
        session_.commit();
        waiting.join();
        return {waited, ended};
    }
    // Retention, the largest result, whether results are stored, and the longest request.
    std::string settings(const std::string& ledger) {
        return database().value(
            "SELECT concat_ws(' ', retention, max_result_bytes, stores_results, longest_request) "
            "FROM ledgers l JOIN ledger_feeds f USING (ledger) WHERE name = '" +
            ledger + "' AND consumer_group = 'inbox'");
    }
    // What a process says at its start whose sink's answers are to be stored there.
    std::string complaint_of_a_topic(const std::string& ledger) {
        Connection worker(schema_.worker());
        try {
            register_ledger(worker, {.name = ledger, .stores_results = true}, "group", "topic");
            return "nothing was refused";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }
    // A ledger that a topic feeds, without an inbox.
    void ledger_of_a_topic() {
        Connection worker(schema_.worker());
        register_ledger(worker, {.name = "shared", .retention = 120h}, "group", "topic");
    }
};

// DANGER: a service registers at each start. If that made the retention shorter, a key would be
// fresh again too early.
TEST_F(InboxRegisterTest, WhatIsNotNamedStaysAsItIs) {
    EXPECT_EQ(settings("inbox"), "24:00:00 65536 t 00:01:00");
    EXPECT_EQ(state("register_ledger('kept', retention => '7 days', longest_request => '5 s', "
                    "max_result_bytes => 10, stores_results => false)"),
              "");
    EXPECT_EQ(settings("kept"), "7 days 10 f 00:00:05");
    EXPECT_EQ(state("register_ledger('kept')"), "");
    EXPECT_EQ(settings("kept"), "7 days 10 f 00:00:05");
    EXPECT_EQ(state("register_ledger('kept', retention => '2 days')"), "");
    EXPECT_EQ(settings("kept"), "2 days 10 f 00:00:05");
    EXPECT_EQ(state("register_ledger('kept', retention => '1 ms')"), "OW004");
}

TEST_F(InboxRegisterTest, AnotherRetentionDoesNotBeginToStoreResults) {
    EXPECT_EQ(state("register_ledger('bare', stores_results => false)"), "");
    EXPECT_EQ(session_.claim("a", "ledger => 'bare'").outcome, "fresh");
    EXPECT_EQ(state("register_ledger('bare', retention => '7 days')"), "");
    EXPECT_EQ(session_.claim("b", "ledger => 'bare'").outcome, "fresh") << "COMMIT asks for none";
    database().execute("SELECT rotate_ledger(" + number("bare") + ", 1)");
    EXPECT_EQ(session_.claim("c", "ledger => 'bare'").outcome, "fresh");
}

TEST_F(InboxRegisterTest, ResultsBeginOnlyBeforeTheFirstClaim) {
    EXPECT_EQ(state("register_ledger('early', stores_results => false)"), "");
    EXPECT_EQ(state("register_ledger('early', stores_results => true)"), "");
    EXPECT_EQ(session_.once("a", "ledger => 'early'", "early").outcome, "fresh");
    EXPECT_EQ(other_.once("a", "ledger => 'early'", "early").body, "paid a");
    EXPECT_EQ(state("register_ledger('late', stores_results => false)"), "");
    // A claim that has not committed yet counts too.
    EXPECT_EQ(one_after_the_other("claim('pay', '', 'id', 'a', ledger => 'late')",
                                  "register_ledger('late', stores_results => true)"),
              (std::pair{true, std::string("OW002")}));
    EXPECT_EQ(session_.claim("b", "ledger => 'late'").outcome, "fresh");
}

TEST_F(InboxRegisterTest, ALedgerOfATopicKeepsItsRetentionAndItsNewInboxStoresResults) {
    ledger_of_a_topic();
    EXPECT_EQ(state("register_ledger('shared')"), "");
    EXPECT_EQ(settings("shared"), "120:00:00 65536 t 00:01:00");
    EXPECT_EQ(session_.once("a", "ledger => 'shared'", "shared").outcome, "fresh");
    EXPECT_EQ(other_.once("a", "ledger => 'shared'", "shared").body, "paid a");
}

// DANGER: its programs store no results. From the next generation on each COMMIT would ask for one.
TEST_F(InboxRegisterTest, WhatNeedsResultsDoesNotJoinAnInboxWithoutThem) {
    EXPECT_EQ(state("register_ledger('bare', stores_results => false)"), "");
    EXPECT_THAT(complaint_of_a_topic("bare"),
                HasSubstr("ledger bare has an inbox that stores no results"));
    Connection connection(schema_.worker());
    EXPECT_THROW(OnceLedger(connection, {.ledger = "bare"}), std::runtime_error);
    EXPECT_EQ(state("begin_results(" + number("bare") + ")"), "OW002");
    EXPECT_EQ(complaint_of_a_topic("inbox"), "nothing was refused");
    database().execute("SELECT rotate_ledger(" + number("bare") + ", 1)");
    EXPECT_EQ(session_.claim("a", "ledger => 'bare'").outcome, "fresh");
}

// DANGER: what is read before the lock is the generation that the rotation seals. With that text no
// key could be claimed until somebody wrote it again.
TEST_F(InboxRegisterTest, WhatWaitsForARotationIsWrittenForTheNewGeneration) {
    EXPECT_EQ(one_after_the_other("rotate_ledger(1, 1)", "register_ledger('inbox')"),
              (std::pair{true, std::string()}));
    EXPECT_EQ(session_.once("a").outcome, "fresh");
    EXPECT_EQ(claims("1_2"), 1);
    EXPECT_EQ(one_after_the_other("rotate_ledger(1, 2)", "grant_inbox(current_user, 'inbox')"),
              (std::pair{true, std::string()}));
    EXPECT_EQ(session_.once("b").outcome, "fresh");
    EXPECT_EQ(session_.once("a").outcome, "duplicate");
    EXPECT_EQ(claims("1_3"), 1);
}

// DANGER: the rotation cannot see the inbox yet, so it has to wait until it can.
TEST_F(InboxRegisterTest, ARotationWaitsForAnInboxThatIsBeingRegistered) {
    ledger_of_a_topic();
    EXPECT_EQ(one_after_the_other("register_ledger('shared', stores_results => false)",
                                  "rotate_ledger(" + number("shared") + ", 1)"),
              (std::pair{true, std::string()}));
    EXPECT_EQ(session_.claim("a", "ledger => 'shared'").outcome, "fresh");
    EXPECT_EQ(claims(number("shared") + "_2"), 1);
}

// As at each start of a service whose sessions have that default.
TEST_F(InboxRegisterTest, ASerializableTransactionMayRegisterWhatIsThere) {
    session_.database.execute("SET default_transaction_isolation = serializable");
    EXPECT_EQ(state("register_ledger('inbox')"), "");
    EXPECT_EQ(state("register_ledger('inbox', retention => '7 days', max_result_bytes => 65536)"),
              "");
    EXPECT_EQ(settings("inbox"), "7 days 65536 t 00:01:00");
    EXPECT_EQ(state("register_ledger('inbox', max_result_bytes => 10)"), "OW001");
    EXPECT_EQ(state("register_ledger('leases', 'lease')"), "") << "no function is written for it";
}

// DANGER: its snapshot may be older than the lock, whatever the order of the statements.
TEST_F(InboxRegisterTest, ASerializableTransactionWritesNoFunctions) {
    session_.database.execute("SET default_transaction_isolation = serializable");
    EXPECT_EQ(state("register_ledger('new')"), "OW001");
    EXPECT_EQ(state("write_inbox(1)"), "OW001");
    EXPECT_EQ(state("write_inbox_entries()"), "OW001");
    EXPECT_EQ(state("grant_inbox(current_user, 'inbox')"), "OW001");
    EXPECT_EQ(state("rotate_ledger(1, 1)"), "OW001");
    session_.database.execute("SET default_transaction_isolation = 'read committed'");
    EXPECT_EQ(state("register_ledger('new')"), "");
}

}  // namespace
}  // namespace onceward::support
