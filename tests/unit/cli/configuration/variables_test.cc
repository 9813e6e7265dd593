#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/cli/configuration/texts.h"

namespace onceward {
namespace {

using test::all_findings;
using test::good_text;
using test::load;

std::string application_name(const std::string& value,
                             const std::map<std::string, std::string>& variables = {}) {
    std::string text = good_text();
    text.replace(text.find("{dsn:"), 5, "{application_name: " + value + ", dsn:");
    const LoadResult result = load(text, variables);
    return result.usable() ? result.configuration.postgres.application_name : all_findings(result);
}

TEST(Variables, AreReplacedInsideAValue) {
    EXPECT_EQ(application_name("\"a-${X}-${Y}\"", {{"X", "1"}, {"Y", "2"}}), "a-1-2");
}

TEST(Variables, ADefaultStandsInForAnUnsetOrEmptyOne) {
    EXPECT_EQ(application_name("\"${X:-spare}\""), "spare");
    EXPECT_EQ(application_name("\"${X:-spare}\"", {{"X", ""}}), "spare");
    EXPECT_EQ(application_name("\"${X:-spare}\"", {{"X", "set"}}), "set");
}

TEST(Variables, AMessageIsShownForAnUnsetOne) {
    EXPECT_NE(application_name("\"${X:?ask the operator}\"").find("ask the operator"),
              std::string::npos);
}

TEST(Variables, TwoDollarsAreOne) { EXPECT_EQ(application_name("\"$${X}\""), "${X}"); }

TEST(Variables, WhatComesOutIsNotReplacedAgain) {
    EXPECT_EQ(application_name("\"${X}\"", {{"X", "${Y}"}, {"Y", "never"}}), "${Y}");
}

TEST(Variables, AValueCannotAddOptions) {
    const std::string value = "orders\nworkers: 9\ntopics: []";
    std::string text = good_text();
    text.replace(text.find("orders"), 6, "${GROUP}");
    const LoadResult result = load(text, {{"GROUP", value}});
    ASSERT_TRUE(result.usable()) << all_findings(result);
    EXPECT_EQ(result.configuration.group, value);
    EXPECT_EQ(result.configuration.workers, 1);
}

TEST(Variables, ANumberMayComeFromOne) {
    EXPECT_EQ(load(good_text("workers: ${N}\n"), {{"N", "7"}}).configuration.workers, 7);
}

TEST(Variables, AWrongValueIsShownAsItStandsInTheFile) {
    const std::string found = all_findings(load(good_text("workers: ${N}\n"), {{"N", "canary"}}));
    EXPECT_NE(found.find("`${N}`"), std::string::npos);
    EXPECT_EQ(found.find("canary"), std::string::npos);
}

TEST(Variables, AnUnsetOneIsAWarningWhereTheEnvironmentIsNotTheRealOne) {
    const std::string text = good_text("workers: ${N}\n");
    EXPECT_FALSE(load(text, {}, true).usable());
    const LoadResult lenient = load(text, {}, false);
    EXPECT_TRUE(lenient.usable()) << all_findings(lenient);
    ASSERT_EQ(lenient.findings.size(), 1U) << all_findings(lenient);
    EXPECT_EQ(lenient.findings[0].severity, Finding::Severity::warning);
}

TEST(Variables, AFileIsReadBesideTheConfigurationWithoutItsLastNewline) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir());
    std::ofstream(folder / "variables_test_secret") << "host=elsewhere\n";
    std::string text = good_text();
    text.replace(text.find("'host=localhost'"), 16, "\"${file:variables_test_secret}\"");
    const LoadResult result = load_configuration_text(text, (folder / "test.yaml").string());
    ASSERT_TRUE(result.usable()) << all_findings(result);
    EXPECT_EQ(result.configuration.postgres.dsn.reveal(), "host=elsewhere");
}

}  // namespace
}  // namespace onceward
