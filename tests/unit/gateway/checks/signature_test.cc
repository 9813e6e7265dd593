#include "gateway/checks/signature.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Scheme = SignatureOptions::Scheme;
using Signed = SignatureVerdict;

constexpr auto at = 1'700'000'000s;
const std::string body = R"({"id":"evt_1"})";

TEST(Signature, IsTheHmacOfTheStandard) {
    // RFC 4231, test case 2.
    EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// The example of standardwebhooks.com.
const std::string standard_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string event = R"({"test": 2432232314})";

class StandardWebhooksTest : public ::testing::Test {
  protected:
    HttpHeaders headers(const std::string& signature,
                        const std::string& id = "msg_p5jXN8AQM9LWM0D4loKWxJek") const {
        return {{"Webhook-Id", id},
                {"webhook-timestamp", "1614265330"},
                {"webhook-signature", signature}};
    }
    Signed verify(const HttpHeaders& given, const std::string& text = event,
                  std::chrono::seconds now = 1614265330s) const {
        return verify_signature(options_, given, text, now);
    }
    SignatureOptions options_{.scheme = Scheme::standard_webhooks,
                              .secrets = {"whsec_not", Secret(standard_secret)}};
    const std::string good_ = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
};

TEST_F(StandardWebhooksTest, TheExampleOfTheStandardIsGood) {
    EXPECT_EQ(verify(headers(good_)), Signed::good);
    options_.secrets = {Secret(standard_secret.substr(6))};
    EXPECT_EQ(verify(headers(good_)), Signed::good) << "without its prefix";
    const std::string wrong = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    EXPECT_EQ(verify(headers(wrong)), Signed::wrong);
    EXPECT_EQ(verify(headers("v1a,xyz " + wrong + " " + good_)), Signed::good);
}

TEST_F(StandardWebhooksTest, IdTimeAndBodyAreSigned) {
    EXPECT_EQ(verify(headers(good_), event + " "), Signed::wrong);
    EXPECT_EQ(verify(headers(good_, "msg_other")), Signed::wrong);
    EXPECT_EQ(verify(headers(good_), event, 1614265631s), Signed::stale);
    HttpHeaders later = headers(good_);
    later[1].second = "1614265631";
    EXPECT_EQ(verify(later, event, 1614265631s), Signed::wrong);
    // With these it would be the same text.
    HttpHeaders shifted = headers(good_, "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330");
    shifted[1].second = "7";
    EXPECT_EQ(verify(shifted, event, 7s), Signed::malformed);
}

TEST_F(StandardWebhooksTest, WhatIsNotOfTheFormIsMalformed) {
    EXPECT_EQ(verify({}), Signed::missing);
    for (const std::string& value : {std::string("v1a,xyz"), std::string("v1,!"), good_.substr(3),
                                     good_.substr(0, good_.size() - 4), std::string("v1,")}) {
        EXPECT_EQ(verify(headers(value)), Signed::malformed) << value;
    }
    EXPECT_EQ(verify(headers(good_, "")), Signed::malformed);
    for (const std::size_t left_out : {0U, 1U}) {
        HttpHeaders without = headers(good_);
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(left_out));
        EXPECT_EQ(verify(without), Signed::malformed) << left_out;
        HttpHeaders twice = headers(good_);
        twice.push_back(twice[left_out]);
        EXPECT_EQ(verify(twice), Signed::malformed) << left_out;
    }
}

TEST_F(StandardWebhooksTest, ASecretThatIsNoneOpensNothing) {
    for (const char* secret : {"", "whsec_", "whsec_AAAA", "no base64"}) {
        EXPECT_FALSE(standard_webhooks_key(secret)) << secret;
        options_.secrets = {secret};
        EXPECT_EQ(verify(headers(good_)), Signed::wrong) << secret;
    }
}

class StripeTest : public ::testing::Test {
  protected:
    static std::string header(const std::string& secret, std::chrono::seconds time,
                              const std::string& text = body) {
        const std::string stamp = std::to_string(time.count());
        return "t=" + stamp + ",v1=" + hmac_sha256(secret, stamp + "." + text);
    }
    Signed verify(const std::string& value, const std::string& text = body) const {
        return verify_signature(options_, {{"Stripe-Signature", value}}, text, at);
    }
    SignatureOptions options_{.scheme = Scheme::stripe, .secrets = {"one", "two"}};
};

TEST_F(StripeTest, ASignatureUnderAnyOfTheSecretsIsGood) {
    EXPECT_EQ(verify(header("one", at)), Signed::good);
    EXPECT_EQ(verify(header("two", at)), Signed::good);
    EXPECT_EQ(verify(header("three", at)), Signed::wrong);
}

TEST_F(StripeTest, OneOfSeveralSignaturesIsEnough) {
    const std::string wrong(64, 'a');
    EXPECT_EQ(verify(header("one", at) + ",v1=" + wrong + ",v0=" + wrong), Signed::good);
    EXPECT_EQ(verify("t=1700000000,v0=" + wrong), Signed::malformed);
}

TEST_F(StripeTest, ATimeBeyondTheToleranceIsStaleEitherWay) {
    EXPECT_EQ(verify(header("one", at - 300s)), Signed::good);
    EXPECT_EQ(verify(header("one", at + 300s)), Signed::good);
    EXPECT_EQ(verify(header("one", at - 301s)), Signed::stale);
    EXPECT_EQ(verify(header("one", at + 301s)), Signed::stale);
}

TEST_F(StripeTest, TheTimeIsSigned) {
    std::string value = header("one", at - 1h);
    value.replace(2, 10, "1700000000");
    EXPECT_EQ(verify(value), Signed::wrong);
}

TEST_F(StripeTest, AnotherBodyIsWrong) {
    EXPECT_EQ(verify(header("one", at), body + " "), Signed::wrong);
    EXPECT_EQ(verify(header("one", at), ""), Signed::wrong);
}

TEST_F(StripeTest, WhatIsNotOfTheFormIsMalformed) {
    const std::string good = header("one", at);
    for (const std::string& value :
         {std::string("a"), std::string("t=1700000000"), good.substr(13), good + ",t=1",
          "t=" + good.substr(2, 10) + "x" + good.substr(12), good.substr(0, good.size() - 1),
          "t=-5," + good.substr(13), "t=," + good.substr(13)}) {
        EXPECT_EQ(verify(value), Signed::malformed) << value;
    }
}

TEST_F(StripeTest, WithoutASignatureOrWithTwoHeadersNothingIsVerified) {
    EXPECT_EQ(verify_signature(options_, {}, body, at), Signed::missing);
    const std::string good = header("one", at);
    EXPECT_EQ(verify_signature(options_, {{"Stripe-Signature", good}, {"stripe-signature", good}},
                               body, at),
              Signed::malformed);
}

TEST(GithubSignature, TheExampleOfItsDocumentationIsGood) {
    const SignatureOptions options{.scheme = Scheme::github,
                                   .secrets = {"It's a Secret to Everybody"}};
    const std::string example =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const auto verify = [&](const std::string& value) {
        return verify_signature(options, {{"X-Hub-Signature-256", value}}, "Hello, World!", at);
    };
    EXPECT_EQ(verify(example), Signed::good);
    EXPECT_EQ(verify(example.substr(7)), Signed::malformed);
    EXPECT_EQ(verify(example.substr(0, 70) + "8"), Signed::wrong);
    EXPECT_EQ(verify("sha1=" + example.substr(7, 40)), Signed::malformed);
}

TEST(HmacSignature, TheHeaderIsYoursAndThePrefixMayBeThere) {
    const SignatureOptions options{
        .scheme = Scheme::hmac, .secrets = {"one"}, .header = "X-Shop-Signature"};
    const std::string good = hmac_sha256("one", body);
    std::string capitals = good;
    for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const std::string& value : {good, "sha256=" + good, capitals}) {
        EXPECT_EQ(verify_signature(options, {{"X-Shop-Signature", value}}, body, at), Signed::good);
    }
    EXPECT_EQ(verify_signature(options, {{"X-Signature", good}}, body, at), Signed::missing);
}

TEST(HmacSignature, WithATimeHeaderTheTimeIsSignedToo) {
    const SignatureOptions options{
        .scheme = Scheme::hmac, .secrets = {"one"}, .header = "S", .time_header = "T"};
    const auto verify = [&](const std::string& time, const std::string& signed_text) {
        return verify_signature(options, {{"S", hmac_sha256("one", signed_text)}, {"T", time}},
                                body, at);
    };
    EXPECT_EQ(verify("1700000000", "1700000000." + body), Signed::good);
    EXPECT_EQ(verify("1700000000", body), Signed::wrong);
    EXPECT_EQ(verify("1600000000", "1600000000." + body), Signed::stale);
    EXPECT_EQ(verify("", "." + body), Signed::malformed);
    EXPECT_EQ(verify("now", "now." + body), Signed::malformed);
}

// Everybody knows it.
TEST(HmacSignature, AnEmptySecretSignsNothing) {
    const SignatureOptions options{.scheme = Scheme::hmac, .secrets = {""}, .header = "S"};
    EXPECT_EQ(verify_signature(options, {{"S", hmac_sha256("", body)}}, body, at), Signed::wrong);
}

}  // namespace
}  // namespace onceward
