// Who may do what at the admin port.

#include "cli/admin/access.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

const std::string look_token = "a-token-to-look-01";
const std::string operate_token = "a-token-to-operate-01";

AdminConfiguration with_tokens() {
    AdminConfiguration configuration;
    configuration.look.tokens = {{"grafana", Secret(look_token)}};
    configuration.operate.tokens = {{"alice", Secret(operate_token)}};
    return configuration;
}

AdminConfiguration with_certificates() {
    AdminConfiguration configuration;
    configuration.look.subjects = {"CN=grafana"};
    configuration.operate.subjects = {"CN=alice,O=Example"};
    return configuration;
}

HttpRequest request(const HttpHeaders& headers, const std::string& certificate = "") {
    HttpRequest made;
    made.headers = headers;
    made.headers.emplace_back("Host", "127.0.0.1:9464");
    made.certificate = certificate;
    return made;
}

// What a program sends that acts.
HttpHeaders acting(const std::string& token) {
    return {{"Authorization", "Bearer " + token}, {act_header, "1"}};
}

// Who is admitted, or the status of the refusal.
std::string outcome(const AdminAccess& access, const HttpRequest& asked, AdminRole wanted) {
    const auto found = access.admit(asked, wanted);
    if (const auto* refusal = std::get_if<AdminRefusal>(&found)) {
        return std::to_string(refusal->status);
    }
    const AdminCaller& caller = std::get<AdminCaller>(found);
    return caller.who + " may " + std::string(to_text(caller.role));
}

TEST(AdminAccess, ATokenHasItsRoleAndItsName) {
    const AdminAccess access(with_tokens(), false);
    const auto look = request({{"Authorization", "Bearer " + look_token}});
    EXPECT_EQ(outcome(access, look, AdminRole::look), "grafana may look");
    EXPECT_EQ(outcome(access, request(acting(look_token)), AdminRole::operate), "403");
    const auto operate = request(acting(operate_token));
    EXPECT_EQ(outcome(access, operate, AdminRole::look), "alice may operate");
    EXPECT_EQ(outcome(access, operate, AdminRole::operate), "alice may operate");
    const auto small = request({{"authorization", "bearer " + look_token}});
    EXPECT_EQ(outcome(access, small, AdminRole::look), "grafana may look")
        << "the scheme has no case";
}

TEST(AdminAccess, WithoutTheRightTokenNobodyIsLetIn) {
    const AdminAccess access(with_tokens(), true);
    for (const std::string token : {"", "a-token-to-look-02", "a-token-to-look-0",
                                    "a-token-to-look-011", "A-token-to-look-01", "grafana"}) {
        const auto asked = request({{"Authorization", "Bearer " + token}});
        EXPECT_EQ(outcome(access, asked, AdminRole::look), "401") << token;
    }
    EXPECT_EQ(outcome(access, request({}), AdminRole::look), "401");
    EXPECT_EQ(outcome(access, request({}), AdminRole::operate), "401");
    const std::string bearer = "Bearer " + look_token;
    EXPECT_EQ(outcome(access, request({{"Authorization", "Basic " + look_token}}), AdminRole::look),
              "401");
    EXPECT_EQ(outcome(access, request({{"Authorization", bearer}, {"Authorization", bearer}}),
                      AdminRole::look),
              "401")
        << "two of them";
}

TEST(AdminAccess, ACertificateHasItsRole) {
    const AdminAccess access(with_certificates(), false);
    EXPECT_EQ(outcome(access, request({}, "CN=grafana"), AdminRole::look), "CN=grafana may look");
    EXPECT_EQ(outcome(access, request({{act_header, "1"}}, "CN=grafana"), AdminRole::operate),
              "403");
    EXPECT_EQ(
        outcome(access, request({{act_header, "1"}}, "CN=alice,O=Example"), AdminRole::operate),
        "CN=alice,O=Example may operate");
    EXPECT_EQ(outcome(access, request({}, "CN=alice"), AdminRole::look), "401") << "a part of one";
    EXPECT_EQ(outcome(access, request({{"Authorization", "Bearer no"}}, "CN=grafana"),
                      AdminRole::look),
              "401")
        << "a wrong token is not made good by a certificate";
}

TEST(AdminAccess, WithoutCredentialsOnlyThisMachineMayLookAndNobodyMayAct) {
    const AdminAccess here(AdminConfiguration{}, true);
    const AdminAccess elsewhere(AdminConfiguration{}, false);
    EXPECT_EQ(outcome(here, request({}), AdminRole::look), " may look");
    EXPECT_EQ(outcome(here, request({{act_header, "1"}}), AdminRole::operate), "401");
    EXPECT_EQ(outcome(here, request({{"Authorization", "Bearer no"}}), AdminRole::look), "401")
        << "a wrong token is no leave to look";
    EXPECT_EQ(outcome(elsewhere, request({}), AdminRole::look), "401");
    const AdminAccess closed(with_tokens(), true);
    EXPECT_EQ(outcome(closed, request({}), AdminRole::look), "401")
        << "one named token closes the port";
}

// A page whose name was made to mean 127.0.0.1 reads with that name in `Host`.
TEST(AdminAccess, OpenLoopbackIsNotForPagesOfOtherNames) {
    const AdminAccess here(AdminConfiguration{}, true);
    const auto from = [&](const std::string& host) {
        HttpRequest asked;
        asked.headers = {{"Host", host}};
        return outcome(here, asked, AdminRole::look);
    };
    for (const char* host : {"localhost:9464", "127.0.0.1:9464", "127.0.0.1", "[::1]:9464"}) {
        EXPECT_EQ(from(host), " may look") << host;
    }
    for (const char* host : {"evil.example:9464", "127.evil.example", "localhost.evil.example",
                             "127.0.0.1.evil.example:9464", ""}) {
        EXPECT_EQ(from(host), "403") << host;
    }
}

TEST(AdminAccess, WhatActsComesFromNoOtherSite) {
    const AdminAccess access(with_certificates(), false);
    const auto from = [&](HttpHeaders headers) {
        return outcome(access, request(headers, "CN=alice,O=Example"), AdminRole::operate);
    };
    const std::string admitted = "CN=alice,O=Example may operate";
    EXPECT_EQ(from({{act_header, "1"}}), admitted) << "a program";
    EXPECT_EQ(from({{act_header, "1"},
                    {"Sec-Fetch-Site", "same-origin"},
                    {"Origin", "https://127.0.0.1:9464"}}),
              admitted)
        << "the port's own page";
    EXPECT_EQ(from({}), "403") << "a form cannot send the header";
    EXPECT_EQ(from({{act_header, "1"}, {"Sec-Fetch-Site", "cross-site"}}), "403");
    EXPECT_EQ(from({{act_header, "1"}, {"Sec-Fetch-Site", "same-site"}}), "403");
    EXPECT_EQ(from({{act_header, "1"}, {"Origin", "https://evil.example"}}), "403");
    EXPECT_EQ(from({{act_header, "1"}, {"Origin", "https://127.0.0.1:9465"}}), "403");
    EXPECT_EQ(from({{act_header, "1"}, {"Origin", "null"}}), "403");
}

// A proxy that ends TLS keeps the name that the browser asked for, or writes its own target.
TEST(AdminAccess, ATokenIsAsGoodThroughAProxyWhateverNameItWrites) {
    const AdminAccess access(with_tokens(), true);
    for (const char* host : {"onceward.example", "127.0.0.1:9464"}) {
        HttpRequest asked;
        asked.headers = acting(operate_token);
        asked.headers.emplace_back("Host", host);
        asked.headers.emplace_back("Origin", "https://onceward.example");
        asked.headers.emplace_back("Sec-Fetch-Site", "same-origin");
        EXPECT_EQ(outcome(access, asked, AdminRole::look), "alice may operate") << host;
        EXPECT_EQ(outcome(access, asked, AdminRole::operate), "alice may operate") << host;
    }
}

TEST(AdminAccess, ATokenStillNeedsTheHeaderAndNoWordOfAnotherSite) {
    const AdminAccess access(with_tokens(), true);
    const std::string bearer = "Bearer " + operate_token;
    EXPECT_EQ(outcome(access, request({{"Authorization", bearer}}), AdminRole::operate), "403");
    EXPECT_EQ(outcome(access,
                      request({{"Authorization", bearer},
                               {act_header, "1"},
                               {"Sec-Fetch-Site", "cross-site"}}),
                      AdminRole::operate),
              "403");
    EXPECT_EQ(outcome(access,
                      request({{"Authorization", "Bearer no"},
                               {act_header, "1"},
                               {"Origin", "https://evil.example"}},
                              "CN=alice,O=Example"),
                      AdminRole::operate),
              "401")
        << "a wrong token frees no certificate of the check";
}

TEST(AdminHost, ConcernsOnlyALoopbackPortWithoutCredentials) {
    EXPECT_TRUE(open_to_this_machine(AdminConfiguration{}, true));
    EXPECT_FALSE(open_to_this_machine(AdminConfiguration{}, false));
    EXPECT_FALSE(open_to_this_machine(with_tokens(), true));
    EXPECT_FALSE(open_to_this_machine(with_certificates(), true));
}

TEST(AdminAccess, ARefusalSaysHowToAskAndNoToken) {
    const AdminAccess access(with_tokens(), false);
    const auto found =
        access.admit(request({{"Authorization", "Bearer sesame-open-01234"}}), AdminRole::look);
    const HttpResponse response = to_response(std::get<AdminRefusal>(found));
    EXPECT_EQ(response.status, 401);
    EXPECT_EQ(only_value(response.headers, "WWW-Authenticate"), "Bearer realm=\"onceward\"");
    EXPECT_EQ(response.body.find("sesame"), std::string::npos);
}

TEST(AdminHost, OnlyTheMachinesOwnNamesPass) {
    for (const char* host : {"localhost", "localhost:9464", "127.0.0.1:80", "127.1.2.3", "[::1]",
                             "[::1]:9464"}) {
        EXPECT_TRUE(names_this_machine({{"Host", host}})) << host;
    }
    for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80",
                             "127.evil.example", "10.0.0.1", "", "[::2]:80", "::1", "[::1]x",
                             "[localhost]", "127.0.0.1:1:2"}) {
        EXPECT_FALSE(names_this_machine({{"Host", host}})) << host;
    }
    EXPECT_FALSE(names_this_machine({}));
    EXPECT_FALSE(names_this_machine({{"Host", "localhost"}, {"Host", "evil.example"}}));
}

}  // namespace
}  // namespace onceward
