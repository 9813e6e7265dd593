#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/check/connect.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string of(const std::string& policy, const std::string& milliseconds,
               std::chrono::seconds claims = 24h) {
    return rewind_warning({{"cleanup.policy", policy}, {"retention.ms", milliseconds}}, claims);
}

TEST(TopicRetention, ClaimsThatAreKeptAsLongAsTheMessagesNeedNoWord) {
    EXPECT_EQ(of("delete", "86400000"), "");
    EXPECT_EQ(of("compact,delete", "3600000"), "");
}

TEST(TopicRetention, ALogThatOutlivesTheClaimsIsToldWithBothNumbersAndWhatToDo) {
    const std::string text = of("delete", "604800000");
    EXPECT_THAT(text, HasSubstr("keeps its messages for 7d, its ledger their claims for 1d"));
    EXPECT_THAT(text, HasSubstr("`retention: 7d`, or never rewind further than 1d"));
    EXPECT_NE(of("delete", "86400001"), "");
    EXPECT_THAT(of("delete", "-1"), HasSubstr("keeps its messages for ever, its"));
    EXPECT_THAT(of("compact", "86400000"), HasSubstr("messages for ever"));
}

TEST(TopicRetention, WhereTheBrokersTellNothingThereIsNothingToSay) {
    EXPECT_EQ(rewind_warning({}, 24h), "");
    EXPECT_EQ(of("delete", "soon"), "");
}

}  // namespace
}  // namespace onceward
