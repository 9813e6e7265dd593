#include "tests/tidy/word_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const std::string words_page = "## Words\n\n| not | but |\n|---|---|\n| `behind` | after |\n";

TEST(Words, NoneOfTheListedOnesIsUsed) {
    EXPECT_THAT(words_to_avoid(repository()), IsEmpty());
}
TEST(Words, OneInACommentOrAMessageIsFound) {
    EXPECT_THAT(
        words_to_avoid({{"CONTRIBUTING.md", words_page},
                        {"dedup/a.cc",
                         "int behind = 1;  // Behind the lock.\n"
                         "say(\"what stands behind it\");\n"},
                        {"dedup/b.cc", "// The class `behind` is a name.\nreturn \"behind\";\n"},
                        {"tests/c.cc", "int a;\n// behind\n"}}),
        UnorderedElementsAre("dedup/a.cc:1 says \"behind\"", "dedup/a.cc:2 says \"behind\"",
                             "tests/c.cc:2 says \"behind\""));
}
TEST(Words, OneInAQueryOrAPageIsFound) {
    EXPECT_THAT(
        words_to_avoid(
            {{"CONTRIBUTING.md", words_page},
             {"docs/a.md", "It stands behind.\n```\nbehind\n```\nThe class `behind`\n"},
             {"schemas/queries/a.sql", "SELECT behind -- not behind it\nFROM behind\n"},
             {"schemas/migrations/001.up.sql", "-- behind\n"}}),
        UnorderedElementsAre("docs/a.md:1 says \"behind\"",
                             "schemas/queries/a.sql:1 says \"behind\""));
}

TEST(Words, NoCommentBeginsWithAFragment) { EXPECT_THAT(fragments(repository()), IsEmpty()); }
TEST(Words, AFragmentIsFoundAndAnInnerLineIsNot) {
    EXPECT_THAT(fragments({{"dedup/a.cc",
                            "// Of the key; none where there is none.\nint a;\n"
                            "// The name\n// Of several keys.\n"},
                           {"schemas/queries/a.sql", "-- Of a ledger.\nSELECT 1\n"}}),
                ElementsAre("dedup/a.cc:1", "schemas/queries/a.sql:1"));
}

}  // namespace
}  // namespace onceward::tidy
