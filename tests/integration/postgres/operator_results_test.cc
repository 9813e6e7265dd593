// Stored results by hand: `onceward explain` tells that there is one, `onceward forget --tenant`
// erases a tenant's.

#include "dedup/server/migration.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

class Results : public Operator {
  protected:
    Results() {
        Connection worker(schema_.worker());
        register_ledger(worker, {.name = "orders", .stores_results = true}, "billing", "orders");
        claim(1, uuid_of("record_key", "k-1"), 41);
        store("k-1", "acme", "the secret answer");
        store("k-2", "acme", "another");
        store("k-3", "other", "theirs");
    }
    void store(const std::string& key, const std::string& tenant, const std::string& body) {
        database().execute(
            "INSERT INTO results_1_1 (digest, tenant, kind, status, headers, body) VALUES ($1, "
            "convert_to($2, 'UTF8'), 'done', 201, '[{\"name\": \"etag\", \"value\": \"x\"}]', "
            "convert_to($3, 'UTF8'))",
            {uuid_of("record_key", key), tenant, body});
    }
    std::int64_t results() { return database().number("SELECT count(*) FROM results_1_1"); }
    Outcome explain(std::vector<std::string> more = {}) {
        std::vector<std::string> all{"explain", "k-1", "--topic", "orders", "--group", "billing"};
        all.insert(all.end(), more.begin(), more.end());
        return run(std::move(all));
    }
    Outcome forget(std::vector<std::string> more) {
        std::vector<std::string> all{"forget", "--reason", "asked to"};
        all.insert(all.end(), more.begin(), more.end());
        return run_as_owner(std::move(all));
    }
};

TEST_F(Results, ExplainTellsOfAResultAndShowsItOnlyWhereItIsAskedFor) {
    const Outcome text = explain();
    EXPECT_EQ(text.exit_code, 0) << text.output;
    EXPECT_THAT(text.output, HasSubstr("result: done, status 201, 17 bytes, stored at"));
    EXPECT_THAT(text.output, testing::Not(HasSubstr("the secret answer")));
    const nlohmann::json told = explain({"--json"}).json()["results"];
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0]["ledger"], "orders");
    EXPECT_FALSE(told[0].contains("body"));
    EXPECT_FALSE(told[0].contains("headers"));
    const nlohmann::json whole = explain({"--json", "--result"}).json()["results"];
    EXPECT_EQ(whole[0]["body"], "the secret answer");
    EXPECT_EQ(whole[0]["headers"][0]["name"], "etag");
    EXPECT_THAT(explain({"--result"}).output, HasSubstr("the secret answer"));
}

TEST_F(Results, ExplainSaysNoStatusWhereTheSinkNamedNone) {
    database().execute("UPDATE results_1_1 SET status = 0");
    EXPECT_THAT(explain().output, HasSubstr("result: done, 17 bytes, stored at"));
}

TEST_F(Results, ATenantsAreErasedOnlyWithYes) {
    const Outcome plan = forget({"--tenant", "acme"});
    EXPECT_EQ(plan.exit_code, 0) << plan.output;
    EXPECT_THAT(plan.output, HasSubstr("ledger orders: 2 results"));
    EXPECT_THAT(plan.output, HasSubstr("nothing was changed"));
    EXPECT_EQ(results(), 3);
    const Outcome done = forget({"--tenant", "acme", "--yes", "--json"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(done.json()["results"], 2);
    EXPECT_EQ(results(), 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1) << "claims stay";
    EXPECT_EQ(database().value("SELECT concat_ws(' ', convert_from(tenant, 'UTF8'), results, "
                               "reason, erased_by = session_user) FROM erasures"),
              "acme 2 asked to t");
    EXPECT_EQ(forget({"--tenant", "acme", "--yes"}).exit_code, 3);
    EXPECT_EQ(forget({"--tenant", "other", "--ledger", "refunds", "--yes"}).exit_code, 3);
    EXPECT_EQ(results(), 1);
}

TEST_F(Results, OfATopicThatIsNamedOnlyThoseInItsLedgersAreErased) {
    Connection worker(schema_.worker());
    const auto add_ledger = [&](const std::string& name, const std::string& group,
                                const std::string& topic) {
        const std::string table =
            "results_" +
            std::to_string(
                register_ledger(worker, {.name = name, .stores_results = true}, group, topic)
                    .ledger) +
            "_1";
        database().execute("INSERT INTO " + table +
                           " (digest, tenant, kind, status, headers, body) SELECT digest, tenant, "
                           "kind, status, headers, body FROM results_1_1 WHERE body = 'another'");
        return table;
    };
    const std::string refunds = add_ledger("refunds", "billing", "refunds");
    const std::string elsewhere = add_ledger("elsewhere", "another", "refunds");
    const auto left = [&](const std::string& table) {
        return database().number("SELECT count(*) FROM " + table);
    };
    const std::vector<std::string> topic{"--tenant", "acme", "--topic", "refunds"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), topic.begin(), topic.end());
        return forget(std::move(more));
    };
    EXPECT_EQ(with({"--yes"}).exit_code, 64) << "of which group?";
    EXPECT_EQ(with({"--group", "billing", "--operation", "x", "--yes"}).exit_code, 64);
    EXPECT_EQ(with({"--group", "billing", "--kind", "record_key", "--yes"}).exit_code, 64);
    EXPECT_EQ(with({"--group", "billing", "--ledger", "orders", "--yes"}).exit_code, 3);
    EXPECT_THAT(with({"--group", "billing"}).output, HasSubstr("ledger refunds: 1 results"));
    const Outcome done = with({"--group", "billing", "--yes", "--json"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(done.json()["results"], 1);
    EXPECT_EQ(left(refunds), 0);
    EXPECT_EQ(left(elsewhere), 1) << "a topic of that name, of another group";
    EXPECT_EQ(results(), 3);
    EXPECT_EQ(forget({"--tenant", "acme", "--yes", "--json"}).json()["results"], 3);
    EXPECT_EQ(left(elsewhere), 0) << "where none is named, in all";
    EXPECT_EQ(results(), 1);
}

// A topic that takes none may hold them for days.
TEST_F(Results, RepliesThatWaitToBeSentAreErasedAsWell) {
    for (const char* row : {"'billing', 'acme'", "'billing', 'other'", "'another', 'acme'"}) {
        database().execute(
            "INSERT INTO outbox (consumer_group, tenant, topic, id) SELECT g, "
            "convert_to(t, 'UTF8'), 'replies', gen_random_uuid() FROM (VALUES (" +
            std::string(row) + ")) AS made (g, t)");
    }
    Connection worker(schema_.worker());
    register_ledger(worker, {.name = "refunds", .stores_results = true}, "billing", "refunds");
    const Outcome dry = forget({"--tenant", "acme"});
    EXPECT_THAT(dry.output, HasSubstr("ledger orders: 3 results"));
    EXPECT_THAT(dry.output, HasSubstr("ledger refunds: 0 results")) << "the reply was counted";
    EXPECT_EQ(forget({"--tenant", "acme", "--yes", "--json"}).json()["results"], 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM outbox"), 2) << "of others, and elsewhere";
}

TEST_F(Results, WithoutAKeyATenantHasToBeNamedAndWithOneATopic) {
    EXPECT_EQ(forget({"--yes"}).exit_code, 64);
    EXPECT_EQ(forget({"k-1", "--group", "billing", "--yes"}).exit_code, 64);
    EXPECT_EQ(results(), 3);
}

TEST_F(Results, AnOperatorsRoleMayErase) {
    const Outcome worker = run({"forget", "--tenant", "acme", "--reason", "mine", "--yes"});
    EXPECT_EQ(worker.exit_code, 1) << worker.output;
    EXPECT_THAT(worker.output, HasSubstr("--grant-operator-to"));
    const std::string role = support::unique_name("operator");
    database().execute("CREATE ROLE " + role);
    Connection owner(schema_.owner());
    grant_operator(owner, role);
    const Outcome granted = onceward(
        {"forget", "--tenant", "acme", "--reason", "mine", "--yes", "--dsn",
         schema_.server().dsn + " options='-c role=" + role + "'", "--schema", schema_.name()});
    EXPECT_EQ(granted.exit_code, 0) << granted.output;
    EXPECT_EQ(results(), 1);
    database().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

}  // namespace
}  // namespace onceward::operator_tests
