// `onceward dlq`: dead letters are shown, sent again and discarded, on a real server and
// librdkafka's mock cluster.

#include "cli/dlq/redrive.h"
#include "dedup/server/migration.h"
#include "tests/integration/postgres/dead_letter_scene.h"

namespace onceward::operator_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Who may produce could otherwise clear an operator's screen or forge lines.
TEST_F(DeadLetters, ShowNoByteThatATerminalObeysAndForgeNoLine) {
    const std::string hostile = "\x1b[2J\x07\r\nnumber: 7\n\u009b2J\u202e";
    letter(1, "key " + hostile, "sink", "customer",
           R"([{"name": "head\u001b[2J\nnumber: 8", "value": "G1sySgoKbnVtYmVyOiA5"}])");
    letter(2, "large", "sink", "customer");
    database().execute("UPDATE dead_letters SET payload = $1, reason = $2 WHERE record_offset = 1",
                       {hostile, "because " + hostile});
    database().execute(
        "UPDATE dead_letters SET payload = convert_to(repeat('x', 1048576), 'UTF8') "
        "WHERE record_offset = 2");
    const auto number = [&](int offset) {
        return database().value("SELECT dead_letter FROM dead_letters WHERE record_offset = " +
                                std::to_string(offset));
    };
    const auto expect_harmless = [](const std::string& output) {
        for (const char c : output) {
            const auto byte = static_cast<unsigned char>(c);
            EXPECT_TRUE(byte == '\n' || (byte >= 0x20 && byte != 0x7F)) << int{byte};
        }
        EXPECT_EQ(output.find("\u009b"), std::string::npos);
        EXPECT_EQ(output.find("\u202e"), std::string::npos);
    };
    for (const bool json : {false, true}) {
        std::vector<std::string> listing{"list"};
        std::vector<std::string> showing{"show", number(1)};
        if (json) listing.emplace_back("--json"), showing.emplace_back("--json");
        const Outcome list = dlq(listing);
        const Outcome show = dlq(showing);
        EXPECT_EQ(list.exit_code, 0) << list.output;
        EXPECT_EQ(show.exit_code, 0) << show.output;
        expect_harmless(list.output);
        expect_harmless(show.output);
        if (json) {
            EXPECT_EQ(show.json()["reason"], "because " + hostile) << "JSON reads the same text";
        } else {
            EXPECT_EQ(std::count(list.output.begin(), list.output.end(), '\n'), 3);
            EXPECT_EQ(show.output.find("\nnumber: 7"), std::string::npos) << show.output;
            EXPECT_EQ(show.output.find("\nnumber: 8"), std::string::npos) << show.output;
        }
    }
    const Outcome large = dlq({"show", number(2)});
    EXPECT_LT(large.output.size(), 10'000U);
    EXPECT_THAT(large.output, HasSubstr("(1048576 bytes in all)"));
}

TEST_F(DeadLetters, AreListedByTopicClassTimeAndKey) {
    letter(1, "k-1");
    letter(2, "k-2", "conflict");
    const auto found = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"list", "--json"});
        const Outcome outcome = dlq(arguments);
        std::vector<std::int64_t> offsets;
        for (const auto& each : outcome.json()) offsets.push_back(each["offset"]);
        return offsets;
    };
    EXPECT_THAT(found({}), ElementsAre(1, 2));
    EXPECT_THAT(found({"--class", "conflict"}), ElementsAre(2));
    EXPECT_THAT(found({"--key", "k-1"}), ElementsAre(1));
    EXPECT_EQ(dlq({"list", "--topic", "orders", "--class", "late_key"}).exit_code, 3);
    EXPECT_THAT(found({"--key", "customer"}), ElementsAre(1, 2));
    EXPECT_THAT(found({"--until", "2020-01-01T00:00:00Z"}), IsEmpty());
    EXPECT_THAT(found({"--since", "2020-01-01T00:00:00Z", "--limit", "1"}), ElementsAre(1));
    EXPECT_THAT(found({"--state", "redriven"}), IsEmpty());
    EXPECT_EQ(dlq({"list", "--topic", "orders", "--class", "behind"}).exit_code, 3);
    EXPECT_EQ(dlq({"list", "--since", "yesterday"}).exit_code, 64);
    EXPECT_EQ(dlq({"list", "--since", "1h"}).exit_code, 0);
    const Outcome misspelt = dlq({"list", "--class", "sinks"});
    EXPECT_EQ(misspelt.exit_code, 64) << "it would pass for a class without letters";
    EXPECT_THAT(misspelt.output, HasSubstr("hot_key"));
    EXPECT_THAT(dlq({"list"}).output, HasSubstr("k-2"));
}

TEST_F(DeadLetters, AreCountedByClassColumnAndReasonWithTheOldestAndTheNewest) {
    for (int offset = 1; offset <= 3; ++offset) letter(offset, "k-" + std::to_string(offset));
    letter(4, "k-4", "conflict");
    letter(5, "k-5", "unmappable");
    letter(6, "k-6", "unmappable");
    database().execute(
        "UPDATE dead_letters SET reason = 'offset ' || record_offset || ' of '"
        " || quote_literal(record_offset), created_at = timestamptz '2026-01-01 UTC'"
        " + record_offset * interval '1 day'");
    database().execute(
        "UPDATE dead_letters SET reason = 'column `amount` (numeric): not a number' "
        "WHERE record_offset = 5");
    database().execute(
        "UPDATE dead_letters SET reason = 'null value in column \"paid_at\" of relation', "
        "sqlstate = '23502' WHERE record_offset = 6");
    database().execute("UPDATE dead_letters SET resolved_at = now() WHERE record_offset = 3");
    const auto causes = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"summary", "--json"});
        std::vector<std::string> lines;
        for (const auto& row : dlq(more).json()) {
            lines.push_back(row["class"].get<std::string>() + " " + row["column"].dump() + " " +
                            row["count"].dump() + " " +
                            row["oldest"].get<std::string>().substr(0, 10) + " " +
                            row["newest"].get<std::string>().substr(0, 10) + " " +
                            row["reason"].get<std::string>());
        }
        return lines;
    };
    EXPECT_THAT(
        causes({}),
        ElementsAre(
            "sink null 2 2026-01-02 2026-01-03 offset … of …",
            "conflict null 1 2026-01-05 2026-01-05 offset … of …",
            "unmappable \"amount\" 1 2026-01-06 2026-01-06 column … (numeric): not a number",
            "unmappable \"paid_at\" 1 2026-01-07 2026-01-07 null value in column … of "
            "relation"));
    EXPECT_THAT(causes({"--class", "sink", "--state", "all"}),
                ElementsAre("sink null 3 2026-01-02 2026-01-04 offset … of …"));
    EXPECT_THAT(causes({"--until", "2026-01-03T00:00:00Z"}),
                ElementsAre("sink null 1 2026-01-02 2026-01-02 offset … of …"));
    EXPECT_THAT(causes({"--limit", "1"}), testing::SizeIs(1)) << "the most frequent cause";
    const Outcome text = dlq({"summary"});
    EXPECT_EQ(text.exit_code, 0) << text.output;
    EXPECT_THAT(text.output, HasSubstr("amount"));
    EXPECT_EQ(dlq({"summary", "--class", "hot_key"}).exit_code, 3);
}

TEST_F(DeadLetters, OneIsShownWithItsPayloadAndHeaders) {
    letter(1, "k-1", "sink", "customer", R"([{"name": "id", "value": "ay0x"}])");
    const std::string number = database().value("SELECT dead_letter FROM dead_letters");
    const Outcome outcome = dlq({"show", number, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.json()["payload"], "payload of k-1");
    EXPECT_EQ(outcome.json()["headers"][0]["value"], "k-1");
    EXPECT_THAT(dlq({"show", number}).output, HasSubstr("header id: k-1"));
    EXPECT_EQ(dlq({"show", "4711"}).exit_code, 3);
}

TEST_F(DeadLetters, AConflictIsShownWithBothFingerprintsAndWhereTheFirstMessageIs) {
    letter(1, "k-1", "conflict");
    const std::string number = database().value("SELECT dead_letter FROM dead_letters");
    EXPECT_FALSE(dlq({"show", number, "--json"}).json().contains("first_places"));
    const std::string mine = uuid_text(digest_of_bytes("mine"));
    const std::string first = uuid_text(digest_of_bytes("first"));
    database().execute(
        "UPDATE dead_letters SET fingerprint = $1, first_fingerprint = $2, first_places = $3",
        {mine, first,
         R"([{"group": "billing", "topic": "orders", "partition": 0, "offset": 7},
             {"group": "billing", "topic": "refunds", "partition": 1, "offset": 3,
              "last_offset": 9}])"});
    const auto shown = dlq({"show", number, "--json"}).json();
    EXPECT_EQ(shown["fingerprint"], mine);
    EXPECT_EQ(shown["first_fingerprint"], first);
    EXPECT_EQ(shown["first_places"][0]["offset"], 7);
    const std::string text = dlq({"show", number}).output;
    EXPECT_THAT(text, HasSubstr("fingerprint: " + mine + "\n"));
    EXPECT_THAT(text, HasSubstr("first_fingerprint: " + first + "\n"));
    EXPECT_THAT(text, HasSubstr("first message: orders partition 0 offset 7 or refunds partition 1 "
                                "between the offsets 3 and 9\n"));
}

TEST_F(DeadLetters, ARedriveSendsThemAsTheyWereAndCountsTheTry) {
    letter(1, "k-1", "sink", "customer",
           R"([{"name": "id", "value": "ay0x"}, {"name": "null", "value": null},
               {"name": "onceward-redriven", "value": "Mg=="}])");
    const Outcome outcome = dlq({"redrive", "--topic", "orders", "--yes"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    const auto messages = read();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].partition, 1);
    EXPECT_EQ(messages[0].key, "customer");
    EXPECT_EQ(messages[0].payload, "payload of k-1");
    ASSERT_EQ(messages[0].headers.size(), 3U);
    EXPECT_EQ(messages[0].headers[0],
              std::pair(std::string("id"), std::optional<std::string>("k-1")));
    EXPECT_EQ(messages[0].headers[1].second, std::nullopt);
    EXPECT_EQ(messages[0].headers[2],
              std::pair(std::string("onceward-redriven"), std::optional<std::string>("3")));
    EXPECT_EQ(states(), "1 f f f");
    EXPECT_EQ(dlq({"redrive", "--topic", "orders", "--yes"}).exit_code, 3);
}

TEST_F(DeadLetters, ADryRunChangesAndSendsNothing) {
    letter(1, "k-1");
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, std::vector<std::string>{"--yes", "--dry-run"}}) {
        std::vector<std::string> arguments{"redrive", "--topic", "orders"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = dlq(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
        EXPECT_THAT(outcome.output, HasSubstr("would send again 1"));
    }
    EXPECT_EQ(states(), "1 t t t");
    EXPECT_THAT(payloads(), IsEmpty());
}

TEST_F(DeadLetters, WhatWasMarkedAndNotAnsweredIsSentAgain) {
    letter(1, "k-1");
    database().execute("UPDATE dead_letters SET redrive_began_at = now(), resolved_at = now()");
    EXPECT_THAT(dlq({"list"}).output, HasSubstr("redriving"));
    EXPECT_EQ(dlq({"redrive", "--topic", "orders", "--yes"}).exit_code, 0);
    EXPECT_THAT(payloads(), ElementsAre("payload of k-1"));
    EXPECT_EQ(states(), "1 f f f");
}

TEST_F(DeadLetters, WhereKafkaIsAwayTheyStayOpenOrMarked) {
    letter(1, "k-1");
    cluster_.set_broker_down(1);
    EXPECT_EQ(dlq({"redrive", "--topic", "orders", "--yes"}).exit_code, 1);
    EXPECT_EQ(states(), "1 t t t");
}

TEST_F(DeadLetters, OneThatWasSentAgainTooOftenStays) {
    letter(1, "k-1", "sink", "a", R"([{"name": "onceward-redriven", "value": "NQ=="}])");
    letter(2, "k-2", "sink", "b");
    const Outcome outcome = dlq({"redrive", "--topic", "orders", "--yes"});
    EXPECT_THAT(outcome.output, HasSubstr("1 were sent again 5 times or more"));
    EXPECT_THAT(payloads(), ElementsAre("payload of k-2"));
    EXPECT_EQ(dlq({"redrive", "--topic", "orders", "--yes", "--max-tries", "6"}).exit_code, 0);
    EXPECT_THAT(payloads(), ElementsAre("payload of k-2", "payload of k-1"));
}

TEST_F(DeadLetters, TheLimitAndTheRateHold) {
    for (int i = 0; i < 5; ++i) letter(i, "k-" + std::to_string(i));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(
        dlq({"redrive", "--topic", "orders", "--yes", "--limit", "3", "--rate", "4"}).exit_code, 0);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
    EXPECT_THAT(payloads(), ElementsAre("payload of k-0", "payload of k-1", "payload of k-2"));
}

// If a letter's key were freed and the letter not sent, any duplicate would be called.
TEST_F(DeadLetters, AFailedEffectsKeyIsFreedWithItsCopyAndNotBefore) {
    for (int i = 0; i < 3; ++i) letter(i, "k-" + std::to_string(i));
    database().execute("UPDATE dead_letters SET digest = md5(key_text)::uuid");
    database().execute(
        "INSERT INTO leases (ledger, digest, state, owner_token, lease_until, source, identity, "
        "partition, record_offset, ended_at) SELECT f.ledger, d.digest, 'failed', "
        "gen_random_uuid(), now(), f.source, d.identity, d.partition, d.record_offset, now() "
        "FROM dead_letters d JOIN ledger_feeds f USING (consumer_group, topic)");
    Connection operators(schema_.owner());
    DeadLetterFilter filter;
    filter.group = "billing";
    filter.topic = "orders";
    filter.limit = 10;
    // The first one's key is freed, and then the user wants it to end.
    RedriveOptions options;
    options.producer.bootstrap_servers = cluster_.bootstrap_servers();
    options.topic = "orders";
    options.rate = 1.0;
    options.stopped = [&] { return database().number("SELECT count(*) FROM evictions") > 0; };
    redrive(operators, select_letters(operators, filter), options);
    EXPECT_EQ(database().value("SELECT string_agg(record_offset::text, ' ' ORDER BY record_offset) "
                               "FROM leases"),
              "1 2");
    options.stopped = [] { return false; };
    options.rate.reset();
    EXPECT_EQ(redrive(operators, select_letters(operators, filter), options).delivered, 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM leases"), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM evictions"), 3);
}

TEST_F(DeadLetters, WithOrderByKeyAKeyGoesAsAWholeAndInOrder) {
    letter(7, "k-7", "behind", "a");
    letter(5, "k-5", "sink", "a");
    letter(6, "k-6", "sink", "b");
    const std::string by_key = "    order: by_key\n";
    const Outcome outcome =
        dlq({"redrive", "--topic", "orders", "--yes", "--class", "behind"}, by_key);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(payloads(), ElementsAre("payload of k-5", "payload of k-7"));
    EXPECT_EQ(states(), "5 f f f, 6 t t t, 7 f f f");
}

// There may be hundreds of thousands of them.
TEST_F(DeadLetters, WithOrderByKeyCopiesOfAHotKeyGoOnlyIfTheyAreSelected) {
    const std::string by_key = "    order: by_key\n";
    letter(5, "k-5", "sink", "a");
    letter(6, "k-6", "hot_key", "a");
    EXPECT_EQ(dlq({"redrive", "--topic", "orders", "--yes", "--class", "sink"}, by_key).exit_code,
              0);
    EXPECT_THAT(payloads(), ElementsAre("payload of k-5"));
    EXPECT_EQ(states(), "5 f f f, 6 t t t");
    EXPECT_EQ(
        dlq({"redrive", "--topic", "orders", "--yes", "--class", "hot_key"}, by_key).exit_code, 0);
    EXPECT_THAT(payloads(), ElementsAre("payload of k-5", "payload of k-6"));
}

TEST_F(DeadLetters, AnotherRedriveOfTheTopicIsWaitedForByHand) {
    letter(1, "k-1");
    Connection other(schema_.owner());
    ASSERT_TRUE(lock_redrives(other, "billing", "orders"));
    const Outcome outcome = dlq({"redrive", "--topic", "orders", "--yes"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.output, HasSubstr("under way"));
    EXPECT_EQ(states(), "1 t t t");
}

TEST_F(DeadLetters, ADiscardIsWrittenDownWithItsReason) {
    letter(1, "k-1");
    letter(2, "k-2", "conflict");
    const std::vector<std::string> discard{"discard", "--topic", "orders", "--class", "conflict"};
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> all = discard;
        all.insert(all.end(), more.begin(), more.end());
        return dlq(all);
    };
    EXPECT_EQ(with({"--yes"}).exit_code, 64);
    EXPECT_EQ(with({"--yes", "--reason", ""}).exit_code, 64);
    EXPECT_THAT(with({"--reason", "a test"}).output, HasSubstr("would discard 1"));
    EXPECT_EQ(states(), "1 t t t, 2 t t t");
    EXPECT_EQ(with({"--yes", "--reason", "a test"}).exit_code, 0);
    EXPECT_EQ(states(), "1 t t t");
    EXPECT_EQ(database().value("SELECT concat_ws(' ', topic, partition, record_offset, "
                               "error_class, reason, discarded_by = session_user) "
                               "FROM discarded_dead_letters"),
              "orders 1 2 conflict a test t");
    EXPECT_EQ(with({"--yes", "--reason", "a test"}).exit_code, 3);
}

TEST_F(DeadLetters, AWorkersRoleMayNotDiscardOrRedrive) {
    letter(1, "k-1");
    const Configured configured(cluster_.bootstrap_servers());
    const Outcome discard = run({"dlq", "discard", "--topic", "orders", "--reason", "mine", "--yes",
                                 "-c", configured.file()});
    EXPECT_EQ(discard.exit_code, 1);
    EXPECT_THAT(discard.output, HasSubstr("--grant-operator-to"));
    const Outcome redrive =
        run({"dlq", "redrive", "--topic", "orders", "--yes", "-c", configured.file()});
    EXPECT_EQ(redrive.exit_code, 1);
    EXPECT_THAT(payloads(), IsEmpty()) << "marked by nobody, and sent";
    EXPECT_EQ(states(), "1 t t t");
}

TEST_F(DeadLetters, AnOperatorsRoleMayDoBoth) {
    letter(1, "k-1");
    letter(2, "k-2");
    const std::string role = support::unique_name("operator");
    database().execute("CREATE ROLE " + role);
    Connection owner(schema_.owner());
    grant_operator(owner, role);
    const std::string dsn = schema_.server().dsn + " options='-c role=" + role + "'";
    const Configured configured(cluster_.bootstrap_servers());
    const auto as_operator = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"-c", configured.file(), "--dsn", dsn, "--schema",
                                           schema_.name(), "--topic", "orders", "--yes"});
        return onceward(std::move(arguments));
    };
    const Outcome redrive = as_operator({"dlq", "redrive", "--limit", "1"});
    EXPECT_EQ(redrive.exit_code, 0) << redrive.output;
    const Outcome discard = as_operator({"dlq", "discard", "--reason", "old"});
    EXPECT_EQ(discard.exit_code, 0) << discard.output;
    EXPECT_EQ(states(), "1 f f f");
    database().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

}  // namespace
}  // namespace onceward::operator_tests
