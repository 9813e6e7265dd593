#include "cli/configuration/yaml_text.h"

#include <gtest/gtest.h>

#include "cli/configuration/yaml_tree.h"

namespace onceward {
namespace {

TEST(YamlText, AScalarIsInQuotesWhereYamlWouldReadSomethingElse) {
    EXPECT_EQ(yaml_scalar("12.50"), "12.50");
    EXPECT_EQ(yaml_scalar("null"), "\"null\"");
    EXPECT_EQ(yaml_scalar(""), "\"\"");
    EXPECT_EQ(yaml_scalar("-"), "\"-\"");
    EXPECT_EQ(yaml_scalar("---"), "\"---\"") << "it would begin a document";
    EXPECT_EQ(yaml_scalar("2026-01-31 11:00:00+00"), "\"2026-01-31 11:00:00+00\"");
    EXPECT_EQ(yaml_scalar("a\"\n"), "\"a\\\"\\u000a\"");
}

TEST(YamlText, ATextIsNeverANumberOrATruth) {
    EXPECT_EQ(yaml_text("orders"), "orders");
    EXPECT_EQ(yaml_text("/order/id"), "/order/id");
    for (const char* other : {"12.50", "-1", "+1", ".5", "yes", "Null", "TRUE", "n"}) {
        EXPECT_EQ(yaml_text(other), "\"" + std::string(other) + "\"");
    }
}

// Whatever the text holds, it is one value, and comes back as it was.
TEST(YamlText, EveryTextIsReadAsItWasWritten) {
    const std::string hostile[] = {"a: b",
                                   "x\ngroup: other",
                                   "'",
                                   "\"",
                                   "\\",
                                   "# no comment",
                                   "a #b",
                                   "- a",
                                   "{a: b}",
                                   "[a]",
                                   "&a",
                                   "*a",
                                   "!a",
                                   "|",
                                   ">",
                                   "%a",
                                   "@a",
                                   "`a`",
                                   "~",
                                   "?",
                                   ":",
                                   "--- a",
                                   "...",
                                   " a ",
                                   "\t",
                                   "\r\n",
                                   "\x7f",
                                   "\u0085",
                                   "\u2028",
                                   "\ufeff",
                                   "\U0001f600"};
    for (const std::string& text : hostile) {
        SCOPED_TRACE(text);
        Report report;
        const auto root =
            parse_yaml(yaml_text(text) + ": {in: [" + yaml_text(text) + "]}\nlast: 1\n", report);
        ASSERT_TRUE(root) << report.sorted().at(0).message;
        ASSERT_EQ(root->keys.size(), 2U);
        EXPECT_EQ(root->keys[0].name, text);
        EXPECT_EQ(root->items[0].items.at(0).items.at(0).text, text);
    }
}

TEST(YamlText, AValueBeginsNoVariable) {
    EXPECT_EQ(yaml_value("${HOME}"), "\"$${HOME}\"");
    EXPECT_EQ(yaml_value("plain"), "plain");
}

}  // namespace
}  // namespace onceward
