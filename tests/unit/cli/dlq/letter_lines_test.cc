// Which lines of a file are dead letters. Nothing of a line may be lost, so what is not known is
// refused.

#include "cli/dlq/letter_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

nlohmann::json line() {
    return nlohmann::json::parse(R"({"form": "onceward-dead-letter/1", "number": 7,
        "group": "billing", "topic": "orders", "identity": "T", "partition": 1, "offset": 0,
        "timestamp": null, "record_key": "aw==", "headers": [{"name": "id", "value": "ay0x"}],
        "payload": null, "key": "", "digest": null, "class": "sink", "sqlstate": "",
        "reason": "why", "attempts": 1, "created_at": "2026-01-01T00:00:00.000000Z",
        "resolved_at": null, "redrive_began_at": null, "redriven_at": null, "fingerprint": null,
        "first_fingerprint": null, "first_places": null})");
}

std::string problem(const nlohmann::json& letter, const std::string& topic = "") {
    return problem_of_line(letter.dump(), "billing", topic);
}
std::string problem_with(const char* name, const nlohmann::json& value) {
    nlohmann::json letter = line();
    letter[name] = value;
    return problem(letter);
}

TEST(LetterLines, AreTakenAsTheExportWritesThem) {
    EXPECT_EQ(problem(line()), "");
    EXPECT_EQ(problem(line(), "orders"), "");
    EXPECT_EQ(problem_with("payload", "AAECgP8="), "");
    EXPECT_EQ(problem_with("first_places", nlohmann::json::array()), "");
}

TEST(LetterLines, OfWhichAMemberIsMissingOrUnknownAreRefused) {
    const nlohmann::json whole = line();
    for (const auto& [name, value] : whole.items()) {
        nlohmann::json letter = whole;
        letter.erase(name);
        EXPECT_EQ(problem(letter), "`" + name + "` is missing");
    }
    EXPECT_EQ(problem_with("tenant", "t"), "`tenant` is not known here");
}

TEST(LetterLines, OfAnotherFormAreRefused) {
    EXPECT_EQ(problem_of_line("{", "billing", ""), "it is not a JSON object");
    EXPECT_EQ(problem_of_line("[]", "billing", ""), "it is not a JSON object");
    EXPECT_EQ(problem_of_line("{\"a\": \"\xff\"}", "billing", ""), "it is not a JSON object");
    const std::string other = " is not as `dlq export` writes it";
    EXPECT_EQ(problem_with("payload", "not base64"), "`payload`" + other);
    EXPECT_EQ(problem_with("payload", "AA=\n="), "`payload`" + other);
    EXPECT_EQ(problem_with("offset", -1), "`offset`" + other);
    EXPECT_EQ(problem_with("offset", "1"), "`offset`" + other);
    EXPECT_EQ(problem_with("identity", nullptr), "`identity`" + other);
    EXPECT_EQ(problem_with("headers", nullptr), "`headers`" + other);
    EXPECT_EQ(problem_with("headers", {{{"name", "a"}, {"value", "?"}}}),
              "`headers` are not as `dlq export` writes them");
    EXPECT_EQ(problem_with("form", "onceward-dead-letter/2"),
              "its form is not `onceward-dead-letter/1`");
}

TEST(LetterLines, OfAnotherGroupOrTopicAreRefused) {
    EXPECT_EQ(problem_of_line(line().dump(), "search", ""),
              "it is of another group; name that one with --group");
    EXPECT_EQ(problem(line(), "visits"), "it is not of topic visits");
}

}  // namespace
}  // namespace onceward
