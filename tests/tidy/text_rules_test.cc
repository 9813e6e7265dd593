#include "tests/tidy/text_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string many(const std::string& line, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line;
    return text;
}

TEST(Text, NoFileIsAbove400Lines) { EXPECT_THAT(long_files(repository()), IsEmpty()); }
TEST(Text, AFileOf401LinesIsFound) {
    EXPECT_THAT(long_files({{"a.cc", many("\n", 400)}, {"b.cc", many("\n", 401)}}),
                ElementsAre("b.cc has 401 lines"));
}

TEST(Text, NoLineIsAbove100Columns) { EXPECT_THAT(long_lines(repository()), IsEmpty()); }
TEST(Text, ALineOf101ColumnsIsFoundCountedInCharacters) {
    EXPECT_THAT(long_lines({{"a.cc", many("x", 100)},
                            {"b.cc", "\n" + many("x", 101)},
                            {"c.cc", many("\u00e4", 100)}}),
                ElementsAre("b.cc:2 has 101 columns"));
}

TEST(Text, NoFunctionHas70Lines) { EXPECT_THAT(long_functions(repository()), IsEmpty()); }
TEST(Text, AFunctionOf70LinesIsFoundAndATypeOf70IsNot) {
    const std::string body = many("    if (x) { y(); }\n", 68);
    const std::string samples = "namespace a {\nint f(int x) {\n" + body + "}\n" +  // 70
                                "class B {\nint g() const {\n" + many("\n", 67) + "}\n" +
                                "// int h() {\nconst char* brace = \"int h() {\";\n};\n}\n";
    EXPECT_THAT(long_functions({{"a.cc", samples}}), ElementsAre("a.cc:2 has 70 lines"));
}

TEST(Text, NothingIsMarkedAsUnfinished) { EXPECT_THAT(unfinished_words(repository()), IsEmpty()); }
TEST(Text, AnUnfinishedPlaceIsFound) {
    const std::string word = std::string("TO") + "DO";
    EXPECT_THAT(unfinished_words({{"a.md", "a " + word + ": later"}, {"b.md", word + "S"}}),
                ElementsAre("a.md says " + word));
}

TEST(Text, NoFileNamesAFolderOfOneMachine) { EXPECT_THAT(machine_paths(repository()), IsEmpty()); }
TEST(Text, AFolderOfOneMachineIsFound) {
    EXPECT_THAT(machine_paths({{"a.cc", "open(\"/home/me/file\");"},
                               {"b.sh", "cd /tmp"},
                               {"c.md", "see dedup/home/page, /etc/passwd and a/root/b"}}),
                UnorderedElementsAre("a.cc:1", "b.sh:1"));
}

TEST(Text, NoFileNamesAHostThatItNeedNot) {
    EXPECT_THAT(foreign_addresses(repository()), IsEmpty());
}
TEST(Text, AHostIsFound) {
    EXPECT_THAT(foreign_addresses({{"a.cmake",
                                    "https://github.com/a https://mirror.invalid/b "
                                    "https://me:word@mirror.invalid/c https://me@example.org/"}}),
                ElementsAre("a.cmake names mirror.invalid", "a.cmake names mirror.invalid"));
}

TEST(Text, EveryHeaderSaysWhatItIs) {
    EXPECT_THAT(headers_without_comment(repository()), IsEmpty());
}
TEST(Text, AHeaderWithoutItsCommentIsFound) {
    EXPECT_THAT(headers_without_comment({{"a.h", "#pragma once\n// What it is.\n"},
                                         {"b.h", "#pragma once\n\n#include <string>\n"}}),
                ElementsAre("b.h"));
}

}  // namespace
}  // namespace onceward::tidy
