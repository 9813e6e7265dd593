// `onceward import`: claims from a table and from a file.

#include "dedup/once.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

class Imported : public Operator {
  protected:
    Outcome import_keys(std::vector<std::string> more,
                        const std::string& ledger = "{name: orders}") {
        const Configured configured("127.0.0.1:1", "    ledger: " + ledger + "\n");
        std::vector<std::string> all{"import", "--topic", "orders", "-c", configured.file()};
        all.insert(all.end(), more.begin(), more.end());
        return run(std::move(all));
    }
    Outcome import_ids(std::vector<std::string> more,
                       const std::string& ledger = "{name: orders}") {
        more.insert(more.end(), {"--kind", "field:/id", "--tenant", "acme"});
        return import_keys(std::move(more), ledger);
    }
    std::int64_t claims() {
        return database().number("SELECT count(*) FROM claims_" + std::to_string(ledger_) + "_1");
    }

    std::string table_ = schema_.user_table("old_orders", "id bigint, note text");
};

TEST_F(Imported, AnExistingTablesKeysAreClaimedPageByPage) {
    database().execute(
        "INSERT INTO old_orders SELECT n, '' FROM generate_series(1, 95) n; "
        "INSERT INTO old_orders VALUES (NULL, ''), (7, 'twice')");
    const std::vector<std::string> query{"--query", "SELECT id FROM " + table_ + ";", "--batch",
                                         "10"};
    const Outcome plan = import_ids(query);
    EXPECT_EQ(plan.exit_code, 0) << plan.output;
    EXPECT_THAT(plan.output, HasSubstr("nothing was changed"));
    EXPECT_EQ(claims(), 0);
    std::vector<std::string> really = query;
    really.insert(really.end(), {"--yes", "--json"});
    const Outcome done = import_ids(really);
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(done.json()["claimed"], 95);
    EXPECT_EQ(done.json()["finished"], true);
    EXPECT_EQ(claims(), 95);
    EXPECT_EQ(import_ids(really).json()["claimed"], 0);
    const Configured configured("127.0.0.1:1");
    const Outcome explained =
        run({"explain", "42", "--topic", "orders", "--tenant", "acme", "-c", configured.file()});
    EXPECT_EQ(explained.exit_code, 0) << explained.output;
    EXPECT_THAT(explained.output, HasSubstr("from an import"));
}

TEST_F(Imported, AFilesLinesAreKeysWithoutTheirEnds) {
    const std::string file = testing::TempDir() + support::unique_name("keys");
    std::ofstream(file, std::ios::binary) << "a\r\n\nb\n" << std::string(300, 'x') << "\nc";
    const Outcome done = import_ids({"--file", file, "--batch", "2", "--yes"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr("claimed 3, known before 0, refused 1"));
    EXPECT_THAT(done.output, HasSubstr("longer than the topic allows"));
    for (const char* key : {"a", "b", "c"}) {
        EXPECT_EQ(
            database().number("SELECT count(*) FROM claims_" + std::to_string(ledger_) +
                              "_1 WHERE digest = '" + uuid_of("field:/id", key, "acme") + "'"),
            1)
            << key;
    }
    std::filesystem::remove(file);
    EXPECT_EQ(import_ids({"--file", file, "--yes"}).exit_code, 64);
}

TEST_F(Imported, ALogTakesThemToo) {
    database().execute("INSERT INTO old_orders SELECT n, '' FROM generate_series(1, 95) n");
    const Outcome done =
        import_ids({"--query", "SELECT id FROM " + table_, "--batch", "40", "--yes"},
                   "{name: fast, store: log}");
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(database().number("SELECT sum(length(digests)) / 16 FROM claims_2_1"), 95);
    const Outcome explained = run({"explain", "42", "--topic", "orders", "--tenant", "acme",
                                   "--kind", "field:/id", "--group", "billing"});
    EXPECT_EQ(explained.exit_code, 0) << explained.output;
    EXPECT_THAT(explained.output, HasSubstr("from an import"));
}

TEST_F(Imported, AQueryMayHaveSeveralLines) {
    database().execute("INSERT INTO old_orders SELECT n, '' FROM generate_series(1, 5) n");
    const Outcome done =
        import_ids({"--query", "SELECT id -- the key\nFROM\n" + table_, "--batch", "2", "--yes"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(claims(), 5);
}

// Nor through another search_path; but the same list of the same place does.
TEST_F(Imported, AnotherServersListDoesNotGoOnWhereThisOneEnded) {
    const std::vector<std::string> here{
        "--query", "SELECT id FROM generate_series(1, 95) AS list (id)", "--yes", "--json"};
    const auto from = [&](const std::string& more) {
        std::vector<std::string> there = here;
        there.insert(there.end(), {"--from", schema_.server().worker_dsn + " " + more});
        return import_ids(there).json();
    };
    ASSERT_EQ(import_ids(here).json()["claimed"], 95);
    // As a run leaves it that was interrupted after the key 90.
    database().execute("UPDATE imports SET position = '>90', finished_at = NULL");
    const std::string other = support::unique_name("other");
    database().execute("CREATE DATABASE " + other + " TEMPLATE template0");
    for (const std::string& elsewhere :
         {"dbname=" + other, std::string("options=-csearch_path=pg_catalog")}) {
        const nlohmann::json report = from(elsewhere);
        EXPECT_EQ(report["resumed"], false) << elsewhere;
        EXPECT_EQ(report["known"], 95) << elsewhere;
    }
    database().execute("DROP DATABASE " + other + " WITH (FORCE)");
    EXPECT_EQ(database().number("SELECT count(DISTINCT description) FROM imports"), 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM imports WHERE description LIKE '%password%'"),
              0);
    EXPECT_EQ(from("connect_timeout=30")["resumed"], true);
}

// For a service that handled requests before it called once().
TEST_F(Imported, ACallWithAnImportedKeyDoesNotRun) {
    Connection service(schema_.worker());
    const OnceLedger calls(service, {.ledger = "payments", .retention = std::chrono::hours(7)});
    const auto feed =
        "SELECT concat_ws(' ', retention, longest_request) FROM ledgers "
        "JOIN ledger_feeds USING (ledger) WHERE name = 'payments'";
    const std::string before = database().value(feed);
    database().execute("INSERT INTO old_orders SELECT n, '' FROM generate_series(1, 20) n");
    const auto import_calls = [&](std::vector<std::string> more) {
        std::vector<std::string> all{"import", "--operation", "pay", "--query",
                                     "SELECT id FROM " + table_};
        all.insert(all.end(), more.begin(), more.end());
        return run(std::move(all));
    };
    EXPECT_THAT(import_calls({"--ledger", "payment", "--yes"}).output,
                HasSubstr("there is no ledger payment yet"));
    EXPECT_EQ(import_calls({"--topic", "orders"}).exit_code, 64);
    EXPECT_THAT(import_calls({"--ledger", "payments"}).output, HasSubstr("answered `unknown`"));
    const Outcome done = import_calls({"--ledger", "payments", "--tenant", "acme", "--yes"});
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr("claimed 20"));
    const auto pay = [&](std::string_view key, std::string_view tenant) {
        return once(service, {.operation = "pay", .tenant = tenant, .text = key}, calls,
                    [&](Transaction&) { return MessageResult{}; })
            .kind;
    };
    EXPECT_EQ(pay("7", "acme"), OnceAnswer::Kind::unknown);
    EXPECT_EQ(pay("21", "acme"), OnceAnswer::Kind::applied);
    EXPECT_EQ(pay("7", "other"), OnceAnswer::Kind::applied);
    EXPECT_EQ(database().value(feed), before) << "an import says nothing of them";
    EXPECT_THAT(run({"explain", "7", "--operation", "pay", "--tenant", "acme"}).output,
                HasSubstr("from an import"));
}

// Another ledger's claims may go back further, and say nothing of this one's.
TEST_F(Imported, AKeyThatIsNotKnownIsNotKnownSinceItsOwnLedgersClaimsBegin) {
    Connection service(schema_.worker());
    const OnceLedger calls(service, {.ledger = "payments"});
    database().execute(
        "UPDATE generations SET created_at = '2001-01-01' WHERE ledger = "
        "(SELECT ledger FROM ledgers WHERE name = 'payments')");
    const auto since = [&](const std::string& of, const std::string& name) {
        const Outcome told = run({"explain", "k", of, name, "--group", "billing", "--json"});
        return told.json()["claims_since"].get<std::string>().substr(0, 4);
    };
    EXPECT_EQ(since("--operation", "pay"), "2001");
    EXPECT_NE(since("--topic", "orders"), "2001");
    EXPECT_EQ(since("--topic", "others"), "") << "no ledger of it is there";
}

TEST_F(Imported, WhatIsNotClearIsAsked) {
    const std::string query = "SELECT 1";
    EXPECT_THAT(import_keys({"--query", query, "--tenant", "acme"}).output,
                HasSubstr("say which these are: --kind"));
    EXPECT_EQ(import_keys({"--query", query, "--kind", "field:/id"}).exit_code, 64);
    EXPECT_EQ(import_ids({}).exit_code, 64);
    EXPECT_EQ(
        import_ids({"--query", query}, "{name: near, store: log, reach: partition}").exit_code, 64);
    EXPECT_EQ(import_ids({"--query", "SELECT nothing", "--yes"}).exit_code, 1);
}

TEST_F(Imported, AQueryThatFailsLeavesNothing) {
    const auto traces = [&] {
        return database().value(
            "SELECT concat_ws(' ', (SELECT count(*) FROM ledgers), "
            "(SELECT count(*) FROM ledger_feeds), (SELECT count(*) FROM imports), "
            "(SELECT count(*) FROM audit_log))");
    };
    const std::string before = traces();
    EXPECT_EQ(import_ids({"--query", "SELECT nothing", "--yes"}, "{name: elsewhere}").exit_code, 1);
    EXPECT_EQ(traces(), before);
}

}  // namespace
}  // namespace onceward::operator_tests
