// `onceward forget`: a key's claim is taken out, with the reason written down.

#include "dedup/once.h"
#include "dedup/retention/sealing.h"
#include "dedup/server/migration.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

class Forgotten : public Operator {
  protected:
    Outcome forget(std::vector<std::string> more) {
        std::vector<std::string> all{"forget", "k-1", "--topic", "orders", "--group", "billing"};
        all.insert(all.end(), more.begin(), more.end());
        return run_as_owner(std::move(all));
    }
    std::int64_t claims(int generation) {
        return database().number("SELECT count(*) FROM claims_" + std::to_string(ledger_) + "_" +
                                 std::to_string(generation));
    }
};

TEST_F(Forgotten, AClaimIsTakenOutOfTheOpenAndOfASealedGeneration) {
    claim(1, uuid_of("record_key", "k-1"), 41);
    claim(1, uuid_of("record_key", "k-2"), 42);
    rotate(1);
    claim(2, uuid_of("payload_sha256", "k-1"), 43);
    const Outcome plan = forget({"--reason", "it was a test"});
    EXPECT_EQ(plan.exit_code, 0) << plan.output;
    EXPECT_THAT(plan.output, HasSubstr("offset 41"));
    EXPECT_THAT(plan.output, HasSubstr("nothing was changed"));
    EXPECT_EQ(claims(1), 2);
    const Outcome done = forget({"--reason", "it was a test", "--yes", "--json"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(done.json()["evicted"], 2);
    EXPECT_EQ(claims(1), 1);
    EXPECT_EQ(claims(2), 0);
    EXPECT_EQ(database().value("SELECT string_agg(concat_ws(' ', generation, reason, digest = '" +
                               uuid_of("record_key", "k-1") +
                               "', evicted_by = session_user), ', ' ORDER BY eviction) "
                               "FROM evictions"),
              "1 it was a test t t, 2 it was a test f t");
    EXPECT_EQ(database().number("SELECT evictions FROM ledgers"), 1);
    EXPECT_EQ(forget({"--reason", "again", "--yes"}).exit_code, 3);
}

TEST_F(Forgotten, AlsoOutOfALogAndOutOfASegmentInParts) {
    Connection worker(schema_.worker());
    const int log =
        register_ledger(worker,
                        {.name = "near", .store = StoreKind::log, .reach = Reach::partition},
                        "billing", "orders")
            .ledger;
    const std::string table = "claims_" + std::to_string(log);
    const auto append = [&](int generation, int partition) {
        database().execute("INSERT INTO " + table + "_" + std::to_string(generation) +
                               " (source, partitions, first_offsets, last_offsets, digests) VALUES "
                               "(1, ARRAY[$1::integer], '{5}', '{9}', uuid_send($2) || "
                               "uuid_send($3))",
                           {std::to_string(partition), uuid_of("record_key", "k-0"),
                            uuid_of("record_key", "k-1")});
    };
    append(1, 0);
    append(1, 3);
    database().execute("SELECT rotate_ledger($1, 1)", {std::to_string(log)});
    append(2, 3);
    ASSERT_TRUE(seal_oldest(worker, log).sealed);
    const Outcome plan = forget({"--reason", "it was a test"});
    EXPECT_THAT(plan.output, HasSubstr("partition 0"));
    EXPECT_THAT(plan.output, HasSubstr("partition 3"));
    const Outcome done = forget({"--reason", "it was a test", "--yes", "--json"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(done.json()["evicted"], 2) << "of two generations";
    EXPECT_EQ(forget({"--reason", "again", "--yes"}).exit_code, 3);
    const std::string left = "SELECT string_agg(encode(digests, 'hex'), ' ') FROM ";
    std::string other = uuid_of("record_key", "k-0");
    std::erase(other, '-');
    EXPECT_EQ(database().value(left + table + "_2"), other);
    EXPECT_EQ(database().value(left + "sealed_" + std::to_string(log) + "_1"), other + " " + other);
}

TEST_F(Forgotten, AnEffectOutsideIsExplainedAndTakenOutUnlessSomebodyIsAtIt) {
    Connection worker(schema_.worker());
    const RegisteredLedger calls =
        register_ledger(worker, {.name = "calls", .store = StoreKind::lease}, "billing", "orders");
    database().execute(
        "INSERT INTO leases (ledger, digest, owner_token, lease_until, attempts, source, identity, "
        "partition, record_offset) VALUES ($1, $2, gen_random_uuid(), now() + interval '1 minute', "
        "2, $3, 'i', 0, 41)",
        {std::to_string(calls.ledger), uuid_of("record_key", "k-1"), std::to_string(calls.source)});
    const std::vector<std::string> question{"explain", "k-1",     "--topic",
                                            "orders",  "--group", "billing"};
    const Outcome under_way = run(question);
    EXPECT_EQ(under_way.exit_code, 3) << under_way.output;
    EXPECT_THAT(under_way.output, HasSubstr("in flight since"));
    const Outcome refused = forget({"--reason", "a test", "--yes"});
    EXPECT_EQ(refused.exit_code, 1) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("nothing was taken out: the key is in flight"));
    EXPECT_THAT(refused.output, testing::Not(HasSubstr("APPLIED again")));
    const Outcome told = forget({"--reason", "a test", "--yes", "--json"});
    EXPECT_EQ(told.exit_code, 1) << told.output;
    EXPECT_EQ(told.json()["evicted"], 0);
    EXPECT_EQ(told.json()["done"], false);
    EXPECT_EQ(database().number("SELECT count(*) FROM leases"), 1);
    database().execute("UPDATE leases SET state = 'done', ended_at = now(), status = 201");
    const Outcome ended = run(question);
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("with status 201 from orders partition 0 offset 41; "
                                        "attempts 2"));
    EXPECT_EQ(forget({"--reason", "a test", "--yes", "--json"}).json()["evicted"], 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM leases"), 0);
    EXPECT_EQ(run(question).exit_code, 3);
}

TEST_F(Forgotten, ExplainTellsOfIt) {
    claim(1, uuid_of("record_key", "k-1"), 41);
    ASSERT_EQ(forget({"--reason", "it was a test", "--yes"}).exit_code, 0);
    const Outcome text = run({"explain", "k-1", "--topic", "orders", "--group", "billing"});
    EXPECT_EQ(text.exit_code, 3) << text.output;
    EXPECT_THAT(text.output, HasSubstr("taken out of ledger orders"));
    EXPECT_THAT(text.output, HasSubstr("it was a test"));
}

TEST_F(Forgotten, TheTenantTheKindAndTheLedgerAreThoseThatWereNamed) {
    claim(1, uuid_of("record_key", "k-1", "acme"), 41);
    EXPECT_EQ(forget({"--reason", "r", "--yes"}).exit_code, 3);
    EXPECT_EQ(forget({"--reason", "r", "--yes", "--tenant", "other"}).exit_code, 3);
    EXPECT_EQ(
        forget({"--reason", "r", "--yes", "--tenant", "acme", "--kind", "field:/id"}).exit_code, 3);
    EXPECT_EQ(
        forget({"--reason", "r", "--yes", "--tenant", "acme", "--ledger", "refunds"}).exit_code, 3);
    EXPECT_EQ(claims(1), 1);
    EXPECT_EQ(forget({"--reason", "r", "--yes", "--tenant", "acme"}).exit_code, 0);
    EXPECT_EQ(claims(1), 0);
}

TEST_F(Forgotten, ACallOfOnceIsNamedByItsOperationAlone) {
    Connection service(schema_.worker());
    const OnceLedger calls(service, {.ledger = "payments"});
    int ran = 0;
    const auto pay = [&](std::string_view tenant) {
        return once(service, {.operation = "pay", .tenant = tenant, .text = "k-1"}, calls,
                    [&](Transaction&) { return MessageResult{.status = 201 + ran++}; })
            .kind;
    };
    ASSERT_EQ(pay("acme"), OnceAnswer::Kind::applied);
    EXPECT_EQ(run({"explain", "k-1"}).exit_code, 64);
    EXPECT_EQ(run({"explain", "k-1", "--operation", "pay"}).exit_code, 3) << "of another tenant";
    EXPECT_EQ(run({"explain", "k-1", "--operation", "refund", "--tenant", "acme"}).exit_code, 3);
    const Outcome told = run({"explain", "k-1", "--operation", "pay", "--tenant", "acme"});
    EXPECT_EQ(told.exit_code, 0) << told.output;
    EXPECT_THAT(told.output, HasSubstr("from a call of once(); key kind once, ledger payments"));
    EXPECT_THAT(told.output, HasSubstr("result: done, status 201"));
    std::vector<std::string> words{"forget", "k-1",    "--operation", "pay",      "--tenant",
                                   "acme",   "--kind", "once",        "--reason", "a test"};
    const Outcome plan = run_as_owner(words);
    EXPECT_THAT(plan.output, HasSubstr("a call with this key would then be CARRIED OUT again"));
    ASSERT_EQ(pay("acme"), OnceAnswer::Kind::replayed);
    words.emplace_back("--yes");
    const Outcome done = run_as_owner(words);
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(pay("acme"), OnceAnswer::Kind::applied);
    EXPECT_EQ(ran, 2);
    // Without a key the results of the whole tenant would go.
    words.erase(words.begin() + 1);
    EXPECT_EQ(run_as_owner(words).exit_code, 64);
    EXPECT_EQ(pay("acme"), OnceAnswer::Kind::replayed);
}

// As of a variable that was not set: without a key the results of the tenant would go.
TEST_F(Forgotten, AnEmptyKeyIsAMistakeAndNoTenantsErasure) {
    const Outcome told = run({"forget", "", "--topic", "orders", "--group", "billing", "--tenant",
                              "acme", "--reason", "r", "--yes"});
    EXPECT_EQ(told.exit_code, 64);
    EXPECT_THAT(told.output, HasSubstr("takes a key, and it is empty"));
}

// Also where the topics that share it are not configured here.
TEST_F(Forgotten, AnOperationAloneHasMessagesKeysWhereTheKindIsNamed) {
    claim(1, uuid_of("record_key", "k-1"), 41);
    EXPECT_EQ(run({"explain", "k-1", "--operation", "billing/orders"}).exit_code, 3);
    const Outcome told =
        run({"explain", "k-1", "--operation", "billing/orders", "--kind", "record_key"});
    EXPECT_EQ(told.exit_code, 0) << told.output;
}

TEST_F(Forgotten, AReasonIsNeededAndAnOperatorsRole) {
    claim(1, uuid_of("record_key", "k-1"), 41);
    EXPECT_EQ(forget({"--yes"}).exit_code, 64);
    EXPECT_EQ(forget({"--yes", "--reason", ""}).exit_code, 64);
    const Outcome worker = run(
        {"forget", "k-1", "--topic", "orders", "--group", "billing", "--reason", "mine", "--yes"});
    EXPECT_EQ(worker.exit_code, 1);
    EXPECT_THAT(worker.output, HasSubstr("--grant-operator-to"));
    EXPECT_EQ(claims(1), 1);
    const std::string role = support::unique_name("operator");
    database().execute("CREATE ROLE " + role);
    Connection owner(schema_.owner());
    grant_operator(owner, role);
    const Outcome granted =
        onceward({"forget", "k-1", "--topic", "orders", "--group", "billing", "--reason", "mine",
                  "--yes", "--dsn", schema_.server().dsn + " options='-c role=" + role + "'",
                  "--schema", schema_.name()});
    EXPECT_EQ(granted.exit_code, 0) << granted.output;
    EXPECT_EQ(claims(1), 0);
    database().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

}  // namespace
}  // namespace onceward::operator_tests
