// The results of a ledger's claims: what is remembered, erased and expires.

#include "dedup/results/result_store.h"

#include "dedup/ledger/ledger.h"
#include "dedup/operator/interventions.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class ResultStoreTest : public CoreTest {
  protected:
    ResultStoreTest() {
        LedgerOptions ledger;
        ledger.name = "ledger";
        ledger.stores_results = true;
        register_ledger(connection_, ledger, "group", "topic");
    }
    void put(const std::string& key, const std::string& tenant = "", bool commits = true) {
        OwnedTransaction transaction(connection_);
        store_.begin();
        const ResultStore::Stored stored{digest(key), tenant, {.body = "result of " + key}};
        store_.put(transaction, {&stored, 1});
        if (!commits) return;
        transaction.commit();
        store_.committed();
    }
    bool knows(const std::string& key) {
        const Digest wanted = digest(key);
        const auto found = store_.get(connection_, {&wanted, 1});
        EXPECT_EQ(found[0].value_or(MessageResult{.body = "result of " + key}).body,
                  "result of " + key);
        return found[0].has_value();
    }
    // Without the store's knowledge: what it says then is from memory.
    void remove_all() { database().execute("DELETE FROM results_1_1"); }
    static Digest digest(const std::string& key) { return scripted_digest(key); }

    Connection connection_{schema_.worker()};
    ResultStore store_{1, StoreKind::table, 1 << 20};
};

TEST_F(ResultStoreTest, WhatWasCommittedIsRememberedUntilTheSessionIsLost) {
    put("a");
    remove_all();
    EXPECT_TRUE(knows("a"));
    store_.connection_lost();
    EXPECT_FALSE(knows("a"));
}

TEST_F(ResultStoreTest, WhatIsReadIsRememberedToo) {
    put("a");
    store_.connection_lost();
    EXPECT_TRUE(knows("a"));
    remove_all();
    EXPECT_TRUE(knows("a"));
}

TEST_F(ResultStoreTest, WhatWasRolledBackIsNot) {
    put("a", "", false);
    store_.begin();
    EXPECT_FALSE(knows("a"));
    {
        OwnedTransaction transaction(connection_);
        store_.begin();
        const ResultStore::Stored stored{digest("a"), "", {.body = "result of a"}};
        store_.put(transaction, {&stored, 1});
        const Digest wanted = digest("a");
        EXPECT_TRUE(store_.get(transaction, {&wanted, 1})[0]) << "its own, before COMMIT";
    }
    store_.begin();
    EXPECT_FALSE(knows("a"));
}

TEST_F(ResultStoreTest, MemoryIsForgottenWhereAClaimIsTakenOut) {
    put("a");
    remove_all();
    database().execute(
        "INSERT INTO claims_1_1 (digest, record_offset, partition, source) VALUES ($1, 1, 0, 1)",
        {uuid_text(digest("b"))});
    Connection owner(schema_.owner());
    const Digest other = digest("b");
    ASSERT_EQ(evict(owner, 1, {&other, 1}, "a test", 5s), 1);
    EXPECT_FALSE(knows("a"));
}

TEST_F(ResultStoreTest, AndWhereItsGenerationIsListedNoMore) {
    put("a");
    database().execute("SELECT rotate_ledger(1, 1)");
    EXPECT_TRUE(knows("a"));
    database().execute("DELETE FROM generations WHERE generation = 1");
    EXPECT_FALSE(knows("a"));
}

TEST_F(ResultStoreTest, ATenantsResultsAreErasedWrittenDownAndForgotten) {
    put("a", "acme");
    put("b", "other");
    database().execute("SELECT rotate_ledger(1, 1)");
    put("c", "acme");
    Connection owner(schema_.owner());
    EXPECT_EQ(erase_results(owner, 1, "acme", "asked to", 5s), 2);
    EXPECT_FALSE(knows("a"));
    EXPECT_TRUE(knows("b"));
    EXPECT_FALSE(knows("c"));
    EXPECT_EQ(database().value("SELECT concat_ws(' ', ledger, convert_from(tenant, 'UTF8'), "
                               "results, reason, erased_by = session_user) FROM erasures"),
              "1 acme 2 asked to t");
    EXPECT_EQ(erase_results(owner, 1, "acme", "asked to", 5s), 0);
}

// A result that is stored and not committed yet would be there after the erasure.
TEST_F(ResultStoreTest, AnErasureWaitsForWhoStoresAResult) {
    Connection owner(schema_.owner());
    {
        OwnedTransaction transaction(connection_);
        store_.begin();
        const ResultStore::Stored stored{digest("a"), "acme", {.body = "result of a"}};
        store_.put(transaction, {&stored, 1});
        EXPECT_EQ(erase_results(owner, 1, "acme", "asked to", 50ms), std::nullopt);
        transaction.commit();
        store_.committed();
    }
    EXPECT_EQ(erase_results(owner, 1, "acme", "asked to", 5s), 1);
    EXPECT_FALSE(knows("a"));
}

// Erases the tenant's results before it writes.
class ErasingReplies final : public Replies {
  public:
    ErasingReplies(const ConnectionOptions& owner, std::string table)
        : owner_(owner), table_(std::move(table)) {}
    void write(Transaction& transaction, std::span<const Reply> replies) override {
        EXPECT_EQ(erase_results(owner_, 1, "acme", "asked to", 5s), 1);
        for (const Reply& reply : replies) {
            transaction.query("INSERT INTO " + table_ + " VALUES ($1)",
                              Parameters{}.text(reply.body));
            ++written;
        }
    }
    int written = 0;

  private:
    Connection owner_;
    std::string table_;
};

// The erasure has deleted the replies that it saw, and this one is not among them.
TEST_F(ResultStoreTest, AReplyIsNotSentIfItsResultWasErasedBeforeItWasWritten) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    CoreWorker first(log, sink_, options());
    ASSERT_TRUE(first.run());
    put("a", "acme");
    log.append(0, {.key = "a"});
    const std::string table = schema_.user_table("replies", "body text");
    ErasingReplies replies(schema_.owner(), table);
    CoreWorkerOptions mine = options("second");
    mine.answers.emplace();
    mine.answers->reply.topic = "replies";
    mine.replies = &replies;
    CoreWorker worker(log, sink_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(replies.written, 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM " + table), 0);
    EXPECT_EQ(worker.totals, (Totals{.duplicates = 1}));
}

TEST_F(ResultStoreTest, AWorkersRoleCanNeitherDeleteNorErase) {
    put("a", "acme");
    EXPECT_THROW(erase_results(connection_, 1, "acme", "mine", 1s), PostgresError);
    EXPECT_THROW(connection_.query("DELETE FROM " + schema_.name() + ".results_1_1", {}),
                 PostgresError);
    EXPECT_TRUE(knows("a"));
}

// Its transactions hold the ledger's lock for nothing else.
TEST_F(ResultStoreTest, ALeaseLedgersGenerationIsNotSealedWhileAResultGoesIntoIt) {
    LedgerOptions ledger;
    ledger.name = "calls";
    ledger.store = StoreKind::lease;
    ledger.stores_results = true;
    const int number = register_ledger(connection_, ledger, "group", "topic").ledger;
    ResultStore calls(number, StoreKind::lease);
    Connection owner(schema_.owner());
    owner.execute("SET lock_timeout = '50ms'");
    const std::string rotate = "SELECT {schema}.rotate_ledger(" + std::to_string(number) + ", 1)";
    const auto put_and = [&](const std::string& body, const std::function<void()>& meanwhile) {
        OwnedTransaction transaction(connection_);
        calls.begin();
        const ResultStore::Stored stored{digest("a"), "", {.body = body}};
        calls.put(transaction, {&stored, 1});
        meanwhile();
        EXPECT_EQ(calls.settle(transaction), Settlement::settled);
        transaction.commit();
        calls.committed();
    };
    put_and("first", [&] { EXPECT_THROW(owner.query(rotate, {}), PostgresError); });
    owner.query(rotate, {});
    // As after its lease was deleted, and before the first result's generation is dropped.
    put_and("second", [] {});
    const Digest wanted = digest("a");
    EXPECT_EQ(calls.get(connection_, {&wanted, 1})[0].value().body, "second");
    OwnedTransaction transaction(connection_);
    EXPECT_EQ(calls.find(transaction, wanted).value().result.body, "second");
}

// The lease goes earlier than the generation that its answer was stored in.
TEST_F(ResultStoreTest, ADeletedLeasesAnswerIsReplayedByNobodyOnceTheKeyHasAnother) {
    LedgerOptions ledger;
    ledger.name = "calls";
    ledger.store = StoreKind::lease;
    ledger.stores_results = true;
    const std::string number =
        std::to_string(register_ledger(connection_, ledger, "group", "topic").ledger);
    const std::string deletes = "SELECT delete_ended_leases(" + number + ", 10)";
    // Its watermark is the clock.
    database().execute("UPDATE ledger_feeds SET longest_request = interval '1 second'");
    Connection other_connection(schema_.worker());
    ResultStore mine(std::stoi(number), StoreKind::lease, 1 << 20);
    ResultStore other(std::stoi(number), StoreKind::lease, 1 << 20);
    const auto call = [&](const std::string& key, const std::string& body) {
        OwnedTransaction transaction(other_connection);
        other.begin();
        const ResultStore::Stored stored{digest(key), "", {.body = body}};
        other.put(transaction, {&stored, 1});
        transaction.commit();
        other.committed();
    };
    const auto replayed = [&](ResultStore& store, Connection& connection, const std::string& key) {
        const Digest wanted = digest(key);
        return store.get(connection, {&wanted, 1})[0].value_or(MessageResult{.body = "none"}).body;
    };
    for (const std::string key : {"open", "sealed"}) {
        database().execute(
            "INSERT INTO leases (ledger, digest, owner_token, lease_until, source, identity, "
            "partition, record_offset, state, ended_at) VALUES ($1, $2, gen_random_uuid(), now(), "
            "1, 'i', 0, 1, 'done', now() - interval '1000 days')",
            {number, uuid_text(digest(key))});
        call(key, "first");
        EXPECT_EQ(replayed(mine, connection_, key), "first") << "and remembered";
        if (key == "sealed") database().execute("SELECT rotate_ledger(" + number + ", 1)");
        EXPECT_EQ(database().number(deletes), 1);
        call(key, "second");
        EXPECT_EQ(replayed(mine, connection_, key), "second") << key;
        EXPECT_EQ(replayed(other, other_connection, key), "second") << key;
        ResultStore without_memory(std::stoi(number), StoreKind::lease, 1 << 20);
        EXPECT_EQ(replayed(without_memory, connection_, key), "second") << key;
    }
    EXPECT_EQ(database().number(deletes), 0);
    EXPECT_EQ(database().number("SELECT evictions FROM ledgers WHERE ledger = " + number), 2)
        << "nothing went: nobody has to forget";
}

TEST_F(ResultStoreTest, ALedgerOfPartitionsStoresNone) {
    LedgerOptions ledger;
    ledger.name = "near";
    ledger.store = StoreKind::log;
    ledger.reach = Reach::partition;
    ledger.stores_results = true;
    EXPECT_THROW(register_ledger(connection_, ledger, "group", "topic"), std::invalid_argument);
}

TEST_F(ResultStoreTest, ALedgerBeginsToStoreThemInItsOpenGeneration) {
    LedgerOptions ledger;
    ledger.name = "later";
    register_ledger(connection_, ledger, "group", "topic");
    EXPECT_EQ(database().value("SELECT to_regclass('results_2_1') IS NULL"), "t");
    ledger.stores_results = true;
    register_ledger(connection_, ledger, "group", "topic");
    EXPECT_EQ(database().value("SELECT to_regclass('results_2_1') IS NOT NULL"), "t");
    ledger.stores_results = false;
    register_ledger(connection_, ledger, "group", "topic");
    database().execute("SELECT rotate_ledger(2, 1)");
    EXPECT_EQ(database().value("SELECT to_regclass('results_2_2') IS NOT NULL"), "t");
}

}  // namespace
}  // namespace onceward::support
