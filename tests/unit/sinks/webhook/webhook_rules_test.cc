// What a webhook decides without a network.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "dedup/base/trace_context.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Kind = EffectOutcome::Kind;

NetworkAddress address(const std::string& text) { return parse_network(text).value().address; }

TEST(Addresses, PublicOnesMayBeCalled) {
    for (const char* text :
         {"8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.0.1", "100.128.0.1",
          "192.167.1.1", "11.0.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::8",
          "64:ff9b::8.8.8.8", "2002:808:808::1", "::ffff:8.8.8.8"}) {
        EXPECT_FALSE(is_special(address(text))) << text;
        EXPECT_TRUE(may_be_called(address(text), {})) << text;
    }
}

TEST(Addresses, SpecialOnesMayNot) {
    for (const char* text : {"127.0.0.1",       "127.255.0.9",    "0.0.0.0",     "10.0.0.1",
                             "172.16.0.1",      "172.31.255.255", "192.168.1.1", "169.254.169.254",
                             "100.64.0.1",      "198.18.0.1",     "192.0.0.8",   "224.0.0.1",
                             "255.255.255.255", "240.0.0.1",      "::",          "::1",
                             "fe80::1",         "fec0::1",        "fc00::1",     "fd12:3456::1",
                             "ff02::1",         "2001:db8::1",    "64:ff9b:1::1"}) {
        EXPECT_TRUE(is_special(address(text))) << text;
    }
}

// The same address in the forms in which IPv6 carries it.
TEST(Addresses, AnIPv4AddressInsideOneOfIPv6IsThatAddress) {
    for (const char* text :
         {"::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:169.254.169.254", "::127.0.0.1",
          "64:ff9b::10.0.0.1", "2002:7f00:1::", "2002:a00:1::5", "2002:c0a8:101::1"}) {
        EXPECT_FALSE(may_be_called(address(text), {})) << text;
    }
}

TEST(Addresses, ANetworkIsAllowedByNameAndNoMoreThanThat) {
    const std::vector<Network> allowed{parse_network("10.1.0.0/16").value(),
                                       parse_network("::1").value()};
    EXPECT_TRUE(may_be_called(address("10.1.255.3"), allowed));
    EXPECT_TRUE(may_be_called(address("::ffff:10.1.0.1"), allowed));
    EXPECT_FALSE(may_be_called(address("10.2.0.1"), allowed));
    EXPECT_TRUE(may_be_called(address("::1"), allowed));
    EXPECT_FALSE(may_be_called(address("::2"), allowed));
    EXPECT_FALSE(may_be_called(address("127.0.0.1"), allowed));
}

TEST(Addresses, ANetworkIsAnAddressAndItsBits) {
    EXPECT_EQ(parse_network("10.0.0.0/8").value().bits, 104);
    EXPECT_EQ(parse_network("fc00::/7").value().bits, 7);
    EXPECT_EQ(to_text(address("::ffff:10.0.0.1")), "10.0.0.1");
    EXPECT_EQ(to_text(address("FE80::1")), "fe80::1");
    for (const char* text : {"", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129",
                             "10.0.0/8", "10.0.0.0/8x", "0x7f.1"}) {
        EXPECT_FALSE(parse_network(text)) << text;
    }
}

TEST(Addresses, AreReadFromWhatASocketIsAskedFor) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(0x7F000001);
    EXPECT_EQ(to_text(address_of(reinterpret_cast<sockaddr*>(&four)).value()), "127.0.0.1");
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr.s6_addr[15] = 1;
    EXPECT_EQ(to_text(address_of(reinterpret_cast<sockaddr*>(&six)).value()), "::1");
    sockaddr local{};
    local.sa_family = AF_UNIX;
    EXPECT_FALSE(address_of(&local));
}

TEST(Rules, TheKeyThatGoesAlongIsAUuidOfVersion5AndTellsNothing) {
    const Digest digest = digest_of_bytes("a message");
    const std::string key = downstream_key(digest);
    EXPECT_EQ(key, downstream_key(digest));
    EXPECT_NE(key, downstream_key(digest_of_bytes("another")));
    EXPECT_NE(key, uuid_text(digest));
    ASSERT_EQ(key.size(), 36U);
    EXPECT_EQ(key[14], '5');
    EXPECT_NE(std::string("89ab").find(key[19]), std::string::npos);
    EXPECT_EQ(key_header_value(digest), "\"" + key + "\"");
}

// The example of standardwebhooks.com.
TEST(Rules, TheHeadersOfStandardWebhooksAreThoseOfTheStandard) {
    const auto headers = standard_webhooks_headers("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                                   "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330s,
                                                   R"({"test": 2432232314})");
    const std::vector<std::pair<std::string, std::string>> wanted{
        {"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
        {"webhook-timestamp", "1614265330"},
        {"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}};
    EXPECT_EQ(headers, wanted);
}

// As `openssl dgst -sha256 -hmac` has it.
TEST(Rules, TheSignatureIsOverTimeAndBody) {
    const std::string one = signature("Jefe", 1700000000s, "{\"id\": 1}");
    EXPECT_EQ(one,
              "t=1700000000,v1="
              "078e4f4f2d14e8d7ab6be4bca7bdc244b39cc502466a16804a74d51172324c01");
    EXPECT_NE(one, signature("Jefe", 1700000000s, "{\"id\": 2}"));
    EXPECT_NE(one, signature("other", 1700000000s, "{\"id\": 1}"));
    EXPECT_NE(one.substr(16), signature("Jefe", 1700000001s, "{\"id\": 1}").substr(16));
}

TEST(Rules, OnlyA4xxThatIsNoRequestToWaitIsFinal) {
    for (const int status : {200, 201, 202, 204, 299}) {
        EXPECT_EQ(meaning_of(status, {}), Kind::done) << status;
    }
    for (const int status : {408, 425, 429, 500, 502, 503, 504, 599, 301, 302, 307, 308, 101}) {
        EXPECT_EQ(meaning_of(status, {}), Kind::again) << status;
    }
    for (const int status : {400, 401, 403, 404, 409, 410, 422}) {
        EXPECT_EQ(meaning_of(status, {}), Kind::failed) << status;
    }
    EXPECT_EQ(meaning_of(409, std::vector{409}), Kind::again);
}

TEST(Rules, RetryAfterIsSecondsOrADate) {
    const auto now = 784111777s;  // Sun, 06 Nov 1994 08:49:37 GMT
    EXPECT_EQ(retry_after("120", now), 120s);
    EXPECT_EQ(retry_after(" 0 ", now), 0s);
    EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), 60s);
    EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), 0s) << "it is over";
    EXPECT_EQ(retry_after("99999999999999999999", now), std::chrono::hours(366 * 24));
    for (const char* text : {"", "soon", "-5", "1.5"}) {
        EXPECT_EQ(retry_after(text, now), std::nullopt) << text;
    }
}

TEST(Rules, AMessageWithoutATraceparentGetsOneThatIsTheSameOnEachTry) {
    const Digest digest = digest_of_bytes("a message");
    EXPECT_TRUE(parse_traceparent(own_traceparent(digest))) << own_traceparent(digest);
    EXPECT_EQ(own_traceparent(digest), own_traceparent(digest));
    EXPECT_NE(own_traceparent(digest), own_traceparent(digest_of_bytes("another")));
}

TEST(Rules, AnAddressToCallIsHttpWithoutAUser) {
    EXPECT_TRUE(call_address("https://example.org/a?b=c").value().tls);
    EXPECT_EQ(call_address("http://127.0.0.1:8080/x").value().host, "127.0.0.1");
    EXPECT_EQ(call_address("https://[fc00::1]:8080/x").value().host, "fc00::1");
    for (const char* url :
         {"", "example.org/a", "ftp://example.org/", "file:///etc/passwd",
          "https://example.com@example.org/", "https://example.com:x@example.org/", "https://"}) {
        EXPECT_FALSE(call_address(url)) << url;
    }
}

}  // namespace
}  // namespace onceward
