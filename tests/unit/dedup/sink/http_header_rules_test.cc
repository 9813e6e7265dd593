#include "dedup/sink/http_header_rules.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using testing::ElementsAre;

TEST(HeaderRules, ANameIsTheSameInEitherCase) {
    EXPECT_TRUE(same_header("Idempotency-Key", "idempotency-KEY"));
    EXPECT_FALSE(same_header("Idempotency-Key", "Idempotency_Key"));
    EXPECT_FALSE(same_header("Key", "Keys"));
    EXPECT_TRUE(same_variable("Idempotency-Key", "idempotency_KEY"));
    EXPECT_FALSE(same_variable("Key", "Keys"));
}

TEST(HeaderRules, AHeaderCannotBeginAnother) {
    EXPECT_TRUE(valid_header_name("X-Request-Id"));
    for (const char* name : {"", "a b", "a:", "a\r\nb", "\xC3\xA4"}) {
        EXPECT_FALSE(valid_header_name(name)) << name;
    }
    EXPECT_TRUE(valid_header_value("a value, with\tmore \xC3\xA9"));
    for (const char* value : {"a\r\nSet-Cookie: b", "a\nb", "a\r", "\x01", "\x7F"}) {
        EXPECT_FALSE(valid_header_value(value)) << value;
    }
    EXPECT_FALSE(valid_header_value(std::string_view("a\0b", 3)));
}

TEST(HeaderRules, WhatConnectionNamesBelongsToTheHop) {
    EXPECT_THAT(names_of_the_hop({{"Connection", "close,, X-Hop\t"}, {"connection", " te"}}),
                ElementsAre("close", "x-hop", "te"));
}

// What one of the three lists has, the others have for the same reason.
TEST(HeaderRules, WhatIsOfOneHopIsNeitherStoredNorForwardedNorSet) {
    for (const char* name :
         {"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
          "proxy-connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings"}) {
        EXPECT_TRUE(is_of_one_hop(name)) << name;
        EXPECT_TRUE(is_never_stored(name)) << name;
        EXPECT_TRUE(is_never_forwarded(name)) << name;
        EXPECT_TRUE(is_of_the_call(name)) << name;
    }
    for (const char* name : {"Content-Language", "X-Own", "ETag"}) {
        EXPECT_FALSE(is_of_one_hop(name)) << name;
        EXPECT_FALSE(is_never_stored(name)) << name;
        EXPECT_FALSE(is_never_forwarded(name)) << name;
        EXPECT_FALSE(is_of_the_call(name)) << name;
    }
}

TEST(HeaderRules, CookiesAndCredentialsAreNeverStored) {
    for (const char* name : {"Set-Cookie", "set-cookie2", "WWW-Authenticate", "Content-Length"}) {
        EXPECT_TRUE(is_never_stored(name)) << name;
    }
}

TEST(HeaderRules, AProxysWordAndOncewardsOwnAreNotTheClientsToSay) {
    for (const char* name :
         {"Host", "Content-Length", "Expect", "Forwarded", "X-Forwarded-For", "x-forwarded-user",
          "X_Forwarded_Proto", "X-Real-IP", "True-Client-IP", "X-Original-URL", "X-Rewrite-URL",
          "X-HTTP-Method-Override", "Idempotency-Key", "idempotency_key", "Onceward-Tenant",
          "onceward_tenant", "Accept-Encoding", "CF-Connecting-IP", "Fastly-Client-IP",
          "X-Cluster-Client-IP", "X-Envoy-External-Address", "X-Azure-ClientIP", "X-Original-Host",
          "X-Host", "X-Forwarded", "Remote-User", "X-Remote-User", "X-SSL-Client-Verify"}) {
        EXPECT_TRUE(is_never_forwarded(name)) << name;
    }
    for (const char* name : {"Idempotency-Key", "onceward-tenant", "ONCEWARD_REPLAYED"}) {
        EXPECT_TRUE(is_own_header(name)) << name;
    }
    EXPECT_FALSE(is_own_header("X-Tenant"));
}

TEST(HeaderRules, AConfigurationSetsNoneThatBelongsToTheCall) {
    EXPECT_TRUE(is_of_the_call("content-length"));
    EXPECT_TRUE(is_of_the_call("Host"));
    EXPECT_TRUE(is_of_the_call("traceparent"));
    EXPECT_FALSE(is_of_the_call("Authorization"));
}

}  // namespace
}  // namespace onceward
