// What `onceward describe` tells those who produce to a topic, and that the command prints it.

#include "cli/describe/topic_contract.h"

#include <gmock/gmock.h>

#include "cli/configuration/load.h"
#include "tests/unit/cli/commands/program_run.h"

namespace onceward {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// `topic`: lines of a topic in addition to its name.
std::string configuration_of(const std::string& topic) {
    return "group: shop\nkafka: {bootstrap_servers: localhost}\npostgres: {dsn: host=localhost}\n"
           "topics:\n  - name: payments\n" +
           topic;
}

std::string contract_for(const std::string& topic) {
    const LoadResult result = load_configuration_text(configuration_of(topic), "test.yaml");
    for (const Finding& finding : result.findings) {
        if (finding.severity == Finding::Severity::error) ADD_FAILURE() << finding.message;
    }
    return topic_contracts(result.configuration);
}

const char* const a_table = "    sink: {table: payments, columns: {id: /id}}\n";
const char* const a_webhook =
    "    key: {preset: idempotency-key}\n"
    "    sink: {webhook: {url: 'https://pay.example/hook', timeout: 4s, retry_on: [409]}}\n"
    "    ledger: {store: lease, lease: 90s, retention: 36h}\n";

TEST(TopicContract, ACallIsPromisedAtLeastOnceAndNotInATransactionWithItsKey) {
    const std::string text = contract_for(a_webhook);
    EXPECT_THAT(text, Not(HasSubstr("both or none")));
    for (const char* part :
         {"before the call, in a transaction of its own, under a lease of 90 s",
          "at least once: again after 3xx, 5xx, 408, 425, 429, 409, where its answer was lost",
          "Idempotency-Key, derived from the key, the same on each try",
          "(any other 4xx) is a dead letter and ends the key",
          "until the dead letter is redriven", "one that comes meanwhile waits",
          "36 h of the log's time after its end"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
}

TEST(TopicContract, AKeyOfSeveralFieldsNamesThem) {
    const std::string text =
        contract_for(std::string("    key: {sources: [{fields: [/account, /order]}]}\n") + a_table);
    EXPECT_THAT(text, HasSubstr("minted by the producer: the fields /account and /order together, "
                                "as a JSON array of texts"));
}

TEST(TopicContract, ARefusedCallThatHaltsItsTopicIsNotItsKeysEnd) {
    const std::string text = contract_for(std::string(a_webhook) + "    on_reject: halt\n");
    EXPECT_THAT(text, HasSubstr("halts the topic before the message and frees its key"));
    EXPECT_THAT(text, Not(HasSubstr("dead letter")));
}

TEST(TopicContract, TheKeysFormatIsTold) {
    EXPECT_THAT(contract_for("    key: {preset: idempotency-key}\n" + std::string(a_table)),
                AllOf(HasSubstr("in double quotes, RFC 8941, or without"),
                      HasSubstr("1 to 255 bytes, any but NUL; taken as it is")));
    EXPECT_THAT(contract_for("    key: {sources: [record_key], charset: ascii_printable, "
                             "length_min: 8, length_max: 64, pattern: '[a-z-]+'}\n" +
                             std::string(a_table)),
                HasSubstr("8 to 64 bytes, printable ASCII, all of it as `[a-z-]+` says"));
    EXPECT_THAT(contract_for("    key: {preset: kafka-coordinates}\n" + std::string(a_table)),
                AllOf(Not(HasSubstr("minted")), Not(HasSubstr("invalid key"))));
}

TEST(TopicContract, WhatAMissingAndAnInvalidKeyGetIsTold) {
    EXPECT_THAT(contract_for("    key: {preset: idempotency-key}\n" + std::string(a_table)),
                AllOf(HasSubstr("no key        a dead letter: not applied"),
                      HasSubstr("invalid key   a dead letter: not applied")));
    EXPECT_THAT(contract_for("    key: {preset: idempotency-key, on_missing: derive, "
                             "on_invalid: skip}\n" +
                             std::string(a_table)),
                AllOf(HasSubstr("no key        applied under Kafka's topic, partition and offset"),
                      HasSubstr("invalid key   not applied: skipped, and counted")));
    EXPECT_THAT(contract_for("    key: {preset: idempotency-key}\n    on_reject: halt\n" +
                             std::string(a_table)),
                HasSubstr("no key        the topic halts before it"));
}

TEST(TopicContract, WhatAConflictGetsIsTold) {
    const std::string key = "    key: {preset: idempotency-key, fingerprint: payload";
    EXPECT_THAT(contract_for(key + "}\n" + a_table),
                HasSubstr("a dead letter of the class `conflict`"));
    EXPECT_THAT(contract_for(key + ", on_conflict: ignore}\n" + a_table),
                HasSubstr("another payload is not applied: counted, and lost"));
    EXPECT_THAT(contract_for(key + ", on_conflict: halt}\n" + a_table),
                HasSubstr("another payload is not applied: the topic halts before it"));
}

TEST(TopicContract, ARepeatsReplyAndARecordOfTheOutboxAreTold) {
    const std::string key = "    key: {preset: idempotency-key}\n";
    EXPECT_THAT(contract_for(key + "    sink: {function: pay, columns: {id: /id}}\n"
                                   "    reply: {topic: answers}\n"),
                HasSubstr("at the topic `answers`, at least once; a repeat gets the first one's "
                          "result again, marked `onceward-replayed: true`"));
    EXPECT_THAT(contract_for(key + a_table), Not(HasSubstr("reply  ")));
    EXPECT_THAT(contract_for(key + "    also_publish: {topic: events}\n" + a_table),
                HasSubstr("to `events`, at least once for each key that is applied"));
}

TEST(TopicContract, TheCommandPrintsIt) {
    const cli_tests::Folder folder;
    folder.write("onceward.yaml", configuration_of(a_webhook));
    const cli_tests::Ran ran = folder.run("describe -c onceward.yaml");
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.output, contract_for(a_webhook));
}

}  // namespace
}  // namespace onceward
