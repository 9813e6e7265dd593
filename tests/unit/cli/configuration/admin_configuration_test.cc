// What `admin` may be; what it may not be is in tests/configs as well.

#include <gmock/gmock.h>

#include "tests/unit/cli/configuration/texts.h"

namespace onceward {
namespace {

using test::all_findings;
using test::good_text;
using test::load;

std::string of_admin(const std::string& admin) {
    return all_findings(load(good_text("admin: {" + admin + "}\n"), {}, false));
}

TEST(AdminConfiguration, ThePageIsForTheLoopbackOrForSomebodyWhoIsNamed) {
    const std::string elsewhere = "listen: '0.0.0.0:9464', ";
    EXPECT_EQ(of_admin("page: on, metrics: look"), "");
    EXPECT_EQ(of_admin("listen: '[::1]:9464', page: on"), "");
    EXPECT_EQ(of_admin(elsewhere + "page: off"), "");
    EXPECT_THAT(of_admin(elsewhere + "page: on"), testing::HasSubstr("nobody could read this"));
    EXPECT_THAT(of_admin(elsewhere + "metrics: look"),
                testing::HasSubstr("nobody could read this"));
    // What a variable holds is not known to `check`.
    EXPECT_THAT(of_admin(elsewhere + "page: on, look: {tokens: {grafana: '${TOKEN}'}}"),
                testing::Not(testing::HasSubstr("nobody could read this")));
}

TEST(AdminConfiguration, WhatAClosedPortWouldNeedIsAWarning) {
    const std::string token = "operate: {tokens: {alice: 0123456789abcdef}}";
    EXPECT_THAT(of_admin("listen: off, " + token),
                testing::HasSubstr("warning: admin.operate.tokens: This does nothing"));
    EXPECT_EQ(of_admin("listen: off"), "");
    EXPECT_EQ(of_admin(token), "");
}

}  // namespace
}  // namespace onceward
