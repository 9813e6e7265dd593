// The operator's commands as a user runs them: the program itself, on a real server.

#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

TEST_F(Operator, ExplainFindsAClaimInASealedGeneration) {
    claim(1, uuid_of("record_key", "k-1"), 41);
    rotate(1);
    const Outcome text = run({"explain", "k-1", "--topic", "orders", "--group", "billing"});
    EXPECT_EQ(text.exit_code, 0) << text.output;
    EXPECT_THAT(text.output, HasSubstr("from orders partition 0 offset 41"));
    const Outcome json =
        run({"explain", "k-1", "--topic", "orders", "--group", "billing", "--json"});
    const auto claim = json.json()["claims"][0];
    EXPECT_EQ(claim["generation"], 1);
    EXPECT_EQ(claim["ledger"], "orders");
    EXPECT_EQ(claim["group"], "billing");
    EXPECT_EQ(claim["kind"], "record_key");
}

TEST_F(Operator, ExplainTellsKindsAndTenantsApart) {
    claim(1, uuid_of("header:Id", "k-1", "acme"), 41);
    const std::vector<std::string> common{"explain", "k-1",     "--topic",
                                          "orders",  "--group", "billing"};
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> all = common;
        all.insert(all.end(), more.begin(), more.end());
        return run(all).exit_code;
    };
    EXPECT_EQ(with({}), 3);
    EXPECT_EQ(with({"--kind", "header:Id"}), 3);
    EXPECT_EQ(with({"--kind", "header:Id", "--tenant", "other"}), 3);
    EXPECT_EQ(with({"--kind", "header:Id", "--tenant", "acme"}), 0);
}

TEST_F(Operator, ExplainTriesEveryKeySourceOfTheTopicsConfiguration) {
    const Configured configured("localhost:1");
    claim(1, uuid_of("field:/id", "k-1", "acme"), 41);
    const auto with = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"explain", "k-1", "-c", configured.file()});
        return run(arguments);
    };
    EXPECT_EQ(with({"--topic", "orders", "--tenant", "acme"}).exit_code, 0);
    EXPECT_EQ(with({"--topic", "orders", "--tenant", "other"}).exit_code, 3);
    EXPECT_THAT(with({"--topic", "orders"}).output, HasSubstr("--tenant"));
    EXPECT_EQ(with({"--topic", "orders"}).exit_code, 64);
    EXPECT_THAT(with({"--topic", "ordres"}).output, HasSubstr("it has orders"));
}

TEST_F(Operator, ExplainLooksThroughAllOfAConfigurationWhereOnlyAKeyIsNamed) {
    const Configured configured("localhost:1");
    claim(1, uuid_of("field:/id", "k-1", "acme"), 41);
    const auto with = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"explain", "-c", configured.file()});
        return run(arguments);
    };
    const Outcome found = with({"k-1", "--tenant", "acme"});
    EXPECT_EQ(found.exit_code, 0) << found.output;
    EXPECT_THAT(found.output, HasSubstr("from orders partition 0 offset 41"));
    EXPECT_EQ(with({"k-2", "--tenant", "acme"}).exit_code, 3);
    const Outcome whose = with({"k-1"});
    EXPECT_EQ(whose.exit_code, 64) << whose.output;
    EXPECT_THAT(whose.output, HasSubstr("topic orders belong to tenants; name one: --tenant"));
    const Outcome without = run({"explain", "k-1"});
    EXPECT_EQ(without.exit_code, 64);
    EXPECT_THAT(without.output, HasSubstr("Give the configuration with -c"));
}

TEST_F(Operator, ExplainShowsADeadLetterThoughNothingWasApplied) {
    database().execute(
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, "
        "record_offset, key_text, error_class, sqlstate, reason, attempts) VALUES "
        "('billing', 'orders', 'T', 2, 7, 'k-2', 'sink', '23514', 'total', 1)");
    const Outcome outcome =
        run({"explain", "k-2", "--topic", "orders", "--group", "billing", "--json"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.json()["applied"], false);
    EXPECT_EQ(outcome.json()["dead_letters"][0]["offset"], 7);
    EXPECT_EQ(outcome.json()["dead_letters"][0]["sqlstate"], "23514");
}

TEST_F(Operator, ExplainFindsADigestsDeadLettersOfAnyTopicWithWhatBecameOfThem) {
    const std::string uuid = uuid_of("record_key", "k-1");
    database().execute(
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
        "digest, error_class, sqlstate, reason, attempts) VALUES "
        "('billing', 'refunds', 'T', 2, 7, $1, 'sink', '23514', 'total', 3), "
        "('billing', 'orders', 'T', 0, 8, $1, 'sink', '23514', 'total', 1)",
        {uuid});
    database().execute(
        "SELECT discard_dead_letters(ARRAY(SELECT dead_letter FROM dead_letters WHERE topic = "
        "'orders'), 'by hand')");
    const Outcome text = run({"explain", uuid, "--digest"});
    EXPECT_EQ(text.exit_code, 3);
    EXPECT_THAT(text.output, HasSubstr("(open, tries 3) at "));
    EXPECT_THAT(text.output, HasSubstr("from refunds partition 2 offset 7: sink 23514 total\n"));
    const auto told = run_as_owner({"explain", uuid, "--digest", "--json"}).json();
    ASSERT_EQ(told["dead_letters"].size(), 1U);
    EXPECT_EQ(told["dead_letters"][0]["state"], "open");
    EXPECT_EQ(told["dead_letters"][0]["attempts"], 3);
    ASSERT_EQ(told["discarded_dead_letters"].size(), 1U);
    EXPECT_EQ(told["discarded_dead_letters"][0]["offset"], 8);
    EXPECT_EQ(told["discarded_dead_letters"][0]["reason"], "by hand");
    EXPECT_EQ(run_as_owner({"explain", uuid, "--digest", "--topic", "orders", "--json"})
                  .json()["dead_letters"]
                  .size(),
              0U);
}

TEST_F(Operator, ExplainShowsWhatAConflictHasMet) {
    claim(1, uuid_of("record_key", "k-1"), 41);
    database().execute(
        "UPDATE claims_1_1 SET fingerprint = '00000000-0000-0000-0000-000000000001'; "
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
        "key_text, error_class, reason, attempts, fingerprint, first_fingerprint, first_places) "
        "VALUES ('billing', 'orders', 'T', 2, 7, 'k-1', 'conflict', 'used before', 1, "
        "'00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000001', "
        R"('[{"group": "billing", "topic": "orders", "partition": 0, "offset": 41}]'))");
    const std::vector<std::string> asked{"explain", "k-1",     "--topic",
                                         "orders",  "--group", "billing"};
    const std::string text = run(asked).output;
    EXPECT_THAT(text, HasSubstr(", fingerprint 00000000-0000-0000-0000-000000000001\n"));
    EXPECT_THAT(text, HasSubstr("used before; first orders partition 0 offset 41; fingerprint "
                                "00000000-0000-0000-0000-000000000002, the first's "
                                "00000000-0000-0000-0000-000000000001\n"));
    std::vector<std::string> in_json = asked;
    in_json.emplace_back("--json");
    const auto told = run(in_json).json();
    EXPECT_EQ(told["claims"][0]["fingerprint"], "00000000-0000-0000-0000-000000000001");
    EXPECT_EQ(told["dead_letters"][0]["first_fingerprint"], told["claims"][0]["fingerprint"]);
    EXPECT_EQ(told["dead_letters"][0]["first_places"][0]["offset"], 41);
}

TEST_F(Operator, ExplainTakesADigestFromTheLogs) {
    const std::string uuid = uuid_of("record_key", "k-1");
    claim(1, uuid, 41);
    EXPECT_EQ(run({"explain", uuid, "--digest", "--topic", "orders"}).exit_code, 0);
    EXPECT_EQ(run({"explain", "xyz", "--digest", "--topic", "orders"}).exit_code, 64);
}

TEST_F(Operator, OffsetsShowsEachFence) {
    fence(0, 100);
    fence(1, 200);
    const Outcome outcome = run({"offsets", "--group", "billing", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.json()["fences"].size(), 2U);
    EXPECT_EQ(outcome.json()["fences"][1]["next_offset"], 200);
    EXPECT_EQ(outcome.json()["fences"][1]["lag"], nullptr);
    EXPECT_THAT(run({"offsets", "--group", "billing"}).output, HasSubstr("orders"));
    EXPECT_EQ(run({"offsets", "--group", "nobody"}).exit_code, 3);
}

TEST_F(Operator, AMoveChangesNothingWithoutYes) {
    fence(0, 100);
    const std::string before = row("owner, next_offset, epoch, watermark");
    const Outcome outcome = run(
        {"offsets", "--group", "billing", "--topic", "orders", "--partition", "0", "--set", "40"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("would move orders partition 0: from 100 to 40"));
    EXPECT_EQ(row("owner, next_offset, epoch, watermark"), before);
}

TEST_F(Operator, ARewindTakesTheFenceFromItsOwnerAndHoldsRetentionBack) {
    fence(0, 100);
    const std::string owner = row("owner");
    const std::string incarnation = row("incarnation");
    const Outcome outcome = run({"offsets", "--group", "billing", "--topic", "orders",
                                 "--partition", "0", "--set", "40", "--yes", "--reason", "a test"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_NE(row("owner"), owner);
    EXPECT_EQ(row("next_offset, epoch, topic_id, watermark IS NULL"), "40 1 T t");
    EXPECT_EQ(row("incarnation"), incarnation) << "its dead letters would be written a second time";
    EXPECT_EQ(database().number("SELECT count(*) FROM skipped_ranges"), 0);
}

TEST_F(Operator, AMoveForwardIsWrittenDownAsSkipped) {
    fence(0, 100);
    run({"offsets", "--group", "billing", "--topic", "orders", "--partition", "0", "--set", "150",
         "--yes", "--reason", "a test"});
    EXPECT_EQ(database().value("SELECT concat_ws(' ', topic, partition, begin_offset, end_offset) "
                               "FROM skipped_ranges"),
              "orders 0 100 150");
    EXPECT_EQ(row("next_offset, watermark IS NULL"), "150 f");
}

TEST_F(Operator, TheBrokersTellTheLagAndTheEndsOfTheLog) {
    MockCluster cluster;
    cluster.create_topic("orders", 2);
    ProducerOptions options;
    options.bootstrap_servers = cluster.bootstrap_servers();
    Producer producer(options);
    for (int record = 0; record < 5; ++record) {
        OutgoingRecord outgoing;
        outgoing.topic = "orders";
        outgoing.partition = Partition{0};
        outgoing.payload = "{}";
        producer.send(outgoing);
    }
    ASSERT_TRUE(producer.flush(std::chrono::seconds(20)));
    fence(0, 2);
    const Configured configured(cluster.bootstrap_servers());
    const Outcome shown = run({"offsets", "-c", configured.file(), "--json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    EXPECT_EQ(shown.json()["fences"][0]["end"], 5);
    EXPECT_EQ(shown.json()["fences"][0]["lag"], 3);
    const auto planned = [&](const std::string& position) {
        return run({"offsets", "-c", configured.file(), "--topic", "orders", "--partition", "0",
                    "--set", position, "--json"})
            .json()[0];
    };
    EXPECT_EQ(planned("latest")["to"], 5);
    EXPECT_EQ(planned("earliest")["to"], 0);
    EXPECT_EQ(planned("2099-01-01T00:00:00Z")["to"], 5);
    EXPECT_THAT(planned("9")["warnings"].dump(), HasSubstr("the log holds 0 to 5"));
}

// The client itself cannot be made: the fences are PostgreSQL's, and are shown all the same.
TEST_F(Operator, FencesAreShownThoughTheKafkaClientIsRefused) {
    fence(0, 7);
    const Configured configured(
        "127.0.0.1:1', properties: {security.protocol: ssl, ssl.ca.location: missing.pem}, "
        "instance_id: 'x");
    const Outcome shown = run({"offsets", "-c", configured.file(), "--json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    EXPECT_THAT(shown.output, HasSubstr("the log's ends are unknown"));
    EXPECT_EQ(shown.last_json()["fences"].size(), 1U) << shown.output;
}

// A mistyped number made a fence, which disabled the listing and `--set latest` for what followed.
TEST_F(Operator, AFenceOfAPartitionThatKafkaHasNotIsRefusedAndAnOldOneDisablesNothing) {
    MockCluster cluster;
    cluster.create_topic("orders", 2);
    const Configured configured(cluster.bootstrap_servers());
    const auto offsets = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"offsets", "-c", configured.file()});
        return run(std::move(arguments));
    };
    fence(1, 0);
    const Outcome refused = offsets(
        {"--topic", "orders", "--partition", "9", "--set", "0", "--yes", "--reason", "a test"});
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_THAT(refused.output, HasSubstr("topic orders has no partition 9 in Kafka: it has 2"));
    EXPECT_EQ(database().number("SELECT count(*) FROM fences"), 1);

    fence(0, 0);
    database().execute("UPDATE fences SET partition = 9 WHERE partition = 0");
    fence(0, 0);
    const Outcome shown = offsets({"--json"});
    EXPECT_EQ(shown.exit_code, 1) << "a fence in use has no partition";
    const nlohmann::json fences = shown.last_json()["fences"];
    ASSERT_EQ(fences.size(), 3U) << shown.output;
    for (const auto& each : fences) {
        EXPECT_EQ(each["missing_in_kafka"], each["partition"] == 9) << each;
        EXPECT_EQ(each["end"].is_null(), each["partition"] == 9) << each;
    }
    const std::vector<std::string> to_latest{"--topic", "orders",   "--set", "latest",
                                             "--yes",   "--reason", "a test"};
    const Outcome latest = offsets(to_latest);
    EXPECT_EQ(latest.exit_code, 1) << "one was left out: " << latest.output;
    EXPECT_THAT(latest.output, HasSubstr("no partition 9"));
    EXPECT_THAT(latest.output, HasSubstr("moved orders partition 1"));

    const Outcome retired =
        run({"groups", "retire", "billing", "--topic", "orders", "--partition", "9", "--yes"});
    EXPECT_EQ(retired.exit_code, 0) << retired.output;
    EXPECT_EQ(offsets(to_latest).exit_code, 0) << "nothing in use was left out";
    database().execute("DELETE FROM fences WHERE partition <> 9");
    EXPECT_THAT(offsets(to_latest).output, HasSubstr("Kafka has none of the partitions"));
}

TEST_F(Operator, FencesAreShownThoughNoBrokerAnswers) {
    fence(0, 2);
    const Configured configured("127.0.0.1:1");
    const Outcome shown = run({"offsets", "-c", configured.file()});
    EXPECT_EQ(shown.exit_code, 0);
    EXPECT_THAT(shown.output, HasSubstr("the log's ends are unknown"));
    EXPECT_THAT(shown.output, HasSubstr("orders"));
}

TEST_F(Operator, ANewFenceIsMadeWhereTheRowWasLost) {
    const Outcome outcome = run({"offsets", "--group", "billing", "--topic", "orders",
                                 "--partition", "3", "--set", "70", "--yes", "--reason", "lost"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(row("partition, first_offset, next_offset"), "3 70 70");
}

TEST_F(Operator, AnotherTopicOfTheSameNameIsAdoptedUnderANewIncarnation) {
    fence(0, 100);
    const std::string incarnation = row("incarnation");
    EXPECT_EQ(run({"offsets", "--group", "billing", "--adopt-topic-id"}).exit_code, 64);
    const Outcome outcome =
        run({"offsets", "--group", "billing", "--topic", "orders", "--partition", "0", "--set", "0",
             "--adopt-topic-id", "--yes", "--reason", "made again"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_NE(row("incarnation"), incarnation);
    EXPECT_EQ(row("next_offset, length(topic_id), watermark IS NULL"), "0 0 t");
}

TEST_F(Operator, ARewindWhereClaimsWereLetGoOfIsWarnedOfUnlessTheLogTellsThatItsAreHeld) {
    fence(0, 100);
    const auto plan = [&](const char* offset) {
        return run({"offsets", "--group", "billing", "--topic", "orders", "--partition", "0",
                    "--set", offset, "--json"})
            .json()[0]["warnings"]
            .size();
    };
    claim(1, uuid_of("record_key", "a"), 10);
    rotate(1);
    claim(2, uuid_of("record_key", "b"), 60);
    EXPECT_EQ(plan("5"), 0U) << "nothing was dropped yet";
    database().execute("DELETE FROM generations WHERE generation = 1");
    EXPECT_EQ(plan("5"), 1U);
    EXPECT_EQ(plan("60"), 1U) << "a later one may have been claimed before it";
}

TEST_F(Operator, APositionThatIsNoneIsAUsageError) {
    fence(0, 100);
    for (const char* position : {"-5", "soon", "12x", "2026-01-31"}) {
        EXPECT_EQ(run({"offsets", "--group", "billing", "--topic", "orders", "--partition", "0",
                       std::string("--set=") + position})
                      .exit_code,
                  64)
            << position;
    }
    EXPECT_EQ(run({"offsets", "--group", "billing", "--topic", "orders", "--set", "5"}).exit_code,
              64);
    EXPECT_EQ(run({"offsets"}).exit_code, 64);
}

TEST_F(Operator, ARetiredGroupLosesItsFencesAndComesBackByUndo) {
    fence(0, 100);
    const std::string owner = row("owner");
    const Outcome dry = run({"groups", "retire", "billing"});
    EXPECT_EQ(dry.exit_code, 0) << dry.output;
    EXPECT_THAT(dry.output, HasSubstr("would be retired: orders partition 0 at 100"));
    EXPECT_EQ(row("owner, retired_at"), owner);
    EXPECT_EQ(run({"groups", "retire", "billing", "--yes"}).exit_code, 0);
    EXPECT_EQ(row("owner = '" + owner + "', retired_at IS NULL"), "f f");
    EXPECT_EQ(database().number("SELECT count(*) FROM ledger_feeds WHERE retired_at IS NULL"), 0);
    EXPECT_EQ(run({"groups", "retire", "billing", "--yes"}).exit_code, 3);
    EXPECT_EQ(run({"groups", "list", "--json"}).json()[0]["retired"], 1);
    EXPECT_EQ(run({"groups", "retire", "billing", "--undo", "--yes"}).exit_code, 0);
    EXPECT_EQ(row("retired_at IS NULL"), "t");
    EXPECT_EQ(database().number("SELECT count(*) FROM ledger_feeds WHERE retired_at IS NULL"), 1);
}

TEST_F(Operator, AFeedAloneIsRetiredWhereItsLedgerIsNamed) {
    fence(0, 100);
    EXPECT_EQ(run({"groups", "retire", "billing", "--ledger", "orders", "--yes"}).exit_code, 0);
    EXPECT_EQ(row("retired_at IS NULL"), "t");
    EXPECT_EQ(database().number("SELECT count(*) FROM ledger_feeds WHERE retired_at IS NULL"), 0);
}

TEST_F(Operator, MigrateTellsWhereTheSchemaStands) {
    const auto owner = [&](std::vector<std::string> arguments, const std::string& schema) {
        arguments.insert(arguments.end(), {"--dsn", schema_.server().dsn, "--schema", schema});
        return onceward(arguments);
    };
    EXPECT_EQ(owner({"migrate", "status"}, schema_.name()).exit_code, 0);
    const std::string other = support::unique_name("operator");
    EXPECT_EQ(owner({"migrate", "status", "--json"}, other).json()["complete"], false);
    const Outcome refused = onceward({"explain", "k", "--topic", "t", "--group", "g", "--dsn",
                                      schema_.server().dsn, "--schema", other});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.output, HasSubstr("onceward migrate up"));
    EXPECT_EQ(owner({"migrate", "up", "--grant-to", support::worker_role}, other).exit_code, 0);
    EXPECT_EQ(owner({"migrate", "status"}, other).exit_code, 0);
    EXPECT_THAT(owner({"migrate", "down", "--to", "0"}, other).output, HasSubstr("--yes"));
    EXPECT_EQ(owner({"migrate", "status"}, other).exit_code, 0) << "a dry run took something back";
    EXPECT_EQ(owner({"migrate", "down", "--to", "0", "--yes"}, other).exit_code, 0);
    EXPECT_EQ(owner({"migrate", "status"}, other).exit_code, 1);
    database().execute("DROP SCHEMA " + other);
    EXPECT_EQ(owner({"migrate", "up"}, "Not-A-Name").exit_code, 64);
}

TEST(OperatorWithoutAServer, MigrateSqlConnectsToNothing) {
    const Outcome outcome = onceward({"migrate", "sql", "--schema", "mine", "--grant-to", "Role"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("CREATE TABLE mine.fences"));
    EXPECT_THAT(outcome.output, HasSubstr("GRANT USAGE ON SCHEMA mine TO \"Role\""));
    EXPECT_THAT(outcome.output, testing::Not(HasSubstr("{schema}")));
}

TEST(OperatorWithoutAServer, AMissingConfigurationIsSaid) {
    const Outcome outcome = onceward({"groups", "list", "-c", "nowhere.yaml"});
    EXPECT_EQ(outcome.exit_code, 78);
    EXPECT_THAT(outcome.output, HasSubstr("nowhere.yaml"));
}

TEST(OperatorWithoutAServer, AServerThatIsAwayIsAFailureAndKeepsThePassword) {
    const Outcome outcome =
        onceward({"groups", "list", "--dsn", "host=127.0.0.1 port=1 user=u password=canary-4711"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.output, testing::Not(HasSubstr("canary-4711")));
}

}  // namespace
}  // namespace onceward::operator_tests
