// register_ledger(): a service calls it at each start, also while generations are sealed.

#include <string>
#include <thread>
#include <utility>

#include "dedup/ledger/ledger.h"
#include "tests/integration/dedup/inbox/inbox_scene.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

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
        std::thread waiting([&] {
            ended = sqlstate_of([&] { other_.database.execute("SELECT " + second); });
        });
        const bool waited = eventually(10s, [&] {
            return database().number("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " +
                                     std::to_string(other_.database.pid())) == 1;
        });
        session_.commit();
        waiting.join();
        return {waited, ended};
    }
    // A ledger that a topic feeds, without an inbox.
    void ledger_of_a_topic() {
        Connection worker(schema_.worker());
        register_ledger(worker, {.name = "shared", .retention = 120h}, "group", "topic");
    }
};

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
