#include "dedup/base/logging.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

// What is written to standard error while `write` runs.
template <class Write>
std::string logged(const LogOptions& options, Write write) {
    testing::internal::CaptureStderr();
    configure_log(options);
    write();
    configure_log({});
    return testing::internal::GetCapturedStderr();
}

TEST(Log, JsonIsOneObjectALineWithTheFieldsTyped) {
    const std::string text = logged({LogLevel::info, LogOptions::Format::json}, [] {
        log_info("batch_committed",
                 {{"topic", "pay\"ments\n"}, {"partition", 3}, {"share", 0.5}, {"last", true}});
    });
    ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    const auto line = nlohmann::json::parse(text);
    EXPECT_EQ(line.at("level"), "info");
    EXPECT_EQ(line.at("event"), "batch_committed");
    EXPECT_EQ(line.at("topic"), "pay\"ments\n");
    EXPECT_EQ(line.at("partition"), 3);
    EXPECT_EQ(line.at("share"), 0.5);
    EXPECT_EQ(line.at("last"), true);
    EXPECT_TRUE(line.at("time").get<std::string>().ends_with("Z"));
}

TEST(Log, BytesThatAreNoUtf8DoNotBreakTheLine) {
    const std::string text = logged({LogLevel::info, LogOptions::Format::json}, [] {
        log_info("odd", {{"error", "\xff\xfe"}});
    });
    EXPECT_TRUE(nlohmann::json::accept(text));
}

TEST(Log, TextIsOneLineForPeople) {
    const std::string text = logged({LogLevel::info, LogOptions::Format::text}, [] {
        log_warning("fence_lost", {{"topic", "a\nb"}, {"offset", std::int64_t{7}}});
    });
    EXPECT_NE(text.find("warning fence_lost topic=\"a\\nb\" offset=7\n"), std::string::npos)
        << text;
}

TEST(Log, NothingInItReachesATerminalAsACommand) {
    const std::string hostile = "\x1b[2J\x07\x7f\u009b2J\u202e\r\n";
    for (const auto format : {LogOptions::Format::text, LogOptions::Format::json}) {
        const std::string text = logged({LogLevel::info, format}, [&] {
            log_info("odd", {{"key", hostile}});
        });
        EXPECT_EQ(std::count_if(text.begin(), text.end(),
                                [](char c) { return std::iscntrl(static_cast<unsigned char>(c)); }),
                  1)
            << "the end of the line alone: " << text;
        EXPECT_EQ(text.find("\u009b"), std::string::npos);
        EXPECT_EQ(text.find("\u202e"), std::string::npos);
        if (format == LogOptions::Format::json) {
            EXPECT_EQ(nlohmann::json::parse(text).at("key"), hostile);
        }
    }
}

TEST(Log, WhatIsBelowTheLevelIsNotWritten) {
    const std::string text = logged({LogLevel::error, LogOptions::Format::text}, [] {
        log_info("quiet");
        log_warning("quiet");
    });
    EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace onceward
