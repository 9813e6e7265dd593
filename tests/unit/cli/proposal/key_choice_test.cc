// Where a proposal finds the idempotency key, and what it says for it.

#include "cli/proposal/key_choice.h"

#include <gmock/gmock.h>

#include "tests/unit/cli/proposal/sampled.h"

namespace onceward::cli_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

SampleRecord record(const std::string& payload,
                    std::vector<std::pair<std::string, std::string>> headers = {},
                    std::optional<std::string> key = std::nullopt) {
    return {.payload = payload, .key = std::move(key), .headers = std::move(headers)};
}

// The key as the configuration has it.
std::string key_of(std::vector<SampleRecord> records, std::string* evidence = nullptr) {
    const Sampled sampled(std::move(records));
    EXPECT_THAT(sampled.refusals(), IsEmpty());
    const Proposal proposal = sampled.proposal();
    if (evidence != nullptr) *evidence = proposal.key.evidence;
    return proposal.key.preset.empty() ? proposal.key.source : proposal.key.preset;
}

TEST(KeyChoice, AKeysHeaderComesBeforeAllElse) {
    std::string evidence;
    EXPECT_EQ(key_of({record(R"({"id": 1})", {{"idempotency-key", "a"}}, "x"),
                      record(R"({"id": 2})", {{"idempotency-key", "b"}}, "y"),
                      record(R"({"id": 2})", {{"idempotency-key", "b"}}, "y")},
                     &evidence),
              "idempotency-key");
    EXPECT_THAT(evidence, HasSubstr("2 of 3 distinct"));
}

TEST(KeyChoice, ACloudEventIsKnownBySourceAndId) {
    EXPECT_EQ(key_of({record("{\"a\": 1}", {{"ce_id", "1"}, {"ce_source", "/s"}})}),
              "cloudevents");
    EXPECT_EQ(key_of({record("{\"a\": 1}", {{"ce_id", "1"}})}), "{header: ce_id}");
}

TEST(KeyChoice, AHeaderThatSomeRecordsLackIsNoKey) {
    const Sampled sampled({record(R"({"a": 1})", {{"idempotency-key", "a"}}),
                           record(R"({"a": 2})")});
    EXPECT_EQ(sampled.proposal().key.preset, "kafka-coordinates");
    EXPECT_THAT(sampled.proposal().notes, testing::Contains(HasSubstr("in 1 of 2 records only")));
    EXPECT_THAT(sampled.refusals(), IsEmpty());
}

TEST(KeyChoice, AFieldIsAKeyByItsNameAndByBeingUnique) {
    std::string evidence;
    EXPECT_EQ(key_of({record(R"({"id": 7, "event_id": "a"})"),
                      record(R"({"id": 7, "event_id": "b"})")},
                     &evidence),
              "{field: /event_id}");
    EXPECT_THAT(evidence, HasSubstr("2 of 2 distinct"));
    EXPECT_EQ(key_of({record(R"({"id": 7})"), record(R"({"id": 8})")}), "{field: /id}");
}

TEST(KeyChoice, AFieldThatRepeatsOrIsMissingIsNotTakenAndSaidSo) {
    for (const char* second : {R"({"id": 7})", R"({"id": null})", R"({"a": 1})"}) {
        const Sampled sampled({record(R"({"id": 7, "a": 0})"), record(second)});
        EXPECT_EQ(sampled.proposal().key.preset, "kafka-coordinates") << second;
        EXPECT_THAT(sampled.proposal().notes,
                    testing::Contains(HasSubstr("`id` is called as a key is, and was not taken")));
        EXPECT_THAT(sampled.refusals(), IsEmpty());
    }
}

TEST(KeyChoice, TheRecordsKeyIsOneIfItIsUnique) {
    EXPECT_EQ(key_of({record(R"({"a": 1})", {}, "x"), record(R"({"a": 1})", {}, "y")}),
              "record_key");
    EXPECT_EQ(key_of({record(R"({"a": 1})", {}, "x"), record(R"({"a": 1})", {}, "x")}),
              "kafka-coordinates");
}

}  // namespace
}  // namespace onceward::cli_tests
