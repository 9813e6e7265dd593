#include "dedup/base/text.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {


std::string line(std::string_view bytes) { return safe_text(bytes, LineBreaks::escaped); }

TEST(SafeText, LeavesReadableTextOfAnyLanguageAsItIs) {
    for (const char* text : {"", "plain \"text\"", "naïve Größe 漢字 😀", "עברית"}) {
        EXPECT_EQ(line(text), text);
    }
}

TEST(SafeText, EscapesWhatATerminalObeys) {
    EXPECT_EQ(line("\x1b[2J"), "\\u001b[2J");
    EXPECT_EQ(line("\x07\x7f"), "\\u0007\\u007f");
    EXPECT_EQ(line(std::string_view("\0", 1)), "\\u0000");
    EXPECT_EQ(line("\u009b2J"), "\\u009b2J");
    EXPECT_EQ(line("\u202e\u2066\u200b\ufeff\u2028"), "\\u202e\\u2066\\u200b\\ufeff\\u2028");
}

TEST(SafeText, EscapesBytesThatAreNoUtf8OneByOne) {
    EXPECT_EQ(line("\xff"), "\\xff");
    EXPECT_EQ(line("\xc0\xae"), "\\xc0\\xae") << "overlong";
    EXPECT_EQ(line("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
    EXPECT_EQ(line("\xe6\xbc"), "\\xe6\\xbc") << "cut off";
    EXPECT_EQ(line("\x9b"), "\\x9b") << "CSI in one byte";
}

TEST(SafeText, KeepsLineBreaksOnlyWhereTheyAreWanted) {
    EXPECT_EQ(line("a\n\tb\r"), "a\\u000a\\u0009b\\u000d");
    EXPECT_EQ(safe_text("a\n\tb\r", LineBreaks::kept), "a\n\tb\\u000d");
}

TEST(SafeText, AValueIsOneLineAndIsCutWithANote) {
    EXPECT_EQ(safe_value("a\nb"), "a\\u000ab");
    EXPECT_EQ(safe_value(std::string(10, 'x'), 10), std::string(10, 'x'));
    EXPECT_EQ(safe_value(std::string(11, 'x'), 10), std::string(10, 'x') + "... (11 bytes in all)");
    EXPECT_EQ(safe_value("漢字", 4), "漢... (6 bytes in all)") << "not within a character";
}

TEST(SafeText, Utf8EndsBeforeTheFirstByteThatIsNone) {
    EXPECT_EQ(utf8_prefix(""), 0U);
    EXPECT_EQ(utf8_prefix("a漢😀"), 8U);
    EXPECT_EQ(utf8_prefix("a漢\xe9z"), 4U);
    EXPECT_EQ(utf8_prefix("ab\xe6\xbc"), 2U) << "cut off";
}

TEST(SafeText, AnIncompleteCharacterWaitsForItsRest) {
    EXPECT_EQ(incomplete_tail("abc"), 0U);
    EXPECT_EQ(incomplete_tail("漢"), 0U);
    EXPECT_EQ(incomplete_tail("a\xe6\xbc"), 2U);
    EXPECT_EQ(incomplete_tail("\xf0\x9f\x98"), 3U);
    EXPECT_EQ(incomplete_tail("\xff"), 0U) << "it begins nothing";
}

}  // namespace
}  // namespace onceward
