#include "gateway/checks/json_web_token.h"

#include <gtest/gtest.h>

#include "tests/unit/gateway/signing_key.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::SigningKey;

constexpr auto at = 1'700'000'000s;

const SigningKey& rsa() {
    static const SigningKey key = SigningKey::rsa("r1");
    return key;
}
const SigningKey& curve() {
    static const SigningKey key = SigningKey::p256("e1");
    return key;
}

json claims(const json& other = json::object()) {
    json made = {{"iss", "https://issuer.example"},
                 {"aud", "orders"},
                 {"sub", "someone"},
                 {"tenant", "acme"},
                 {"level", 3},
                 {"exp", at.count() + 600}};
    made.update(other);
    return made;
}

KeySet keys(const std::vector<json>& parts) {
    std::optional<KeySet> set = KeySet::parse(test::key_set(parts));
    if (!set) throw std::runtime_error("no key set");
    return std::move(*set);
}

class TokenTest : public ::testing::Test {
  protected:
    TokenReading read(const std::string& token) const {
        return read_token(token, keys_, options_, at);
    }
    std::optional<TokenFault> fault(const json& other) const {
        return read(rsa().sign(claims(other), "RS256")).fault;
    }
    KeySet keys_ = keys({rsa().public_part(), curve().public_part()});
    TokenOptions options_{.issuer = "https://issuer.example", .audiences = {"orders", "both"}};
};

TEST_F(TokenTest, AGoodOneSaysWhoItIs) {
    for (const TokenReading& reading :
         {read(rsa().sign(claims(), "RS256")), read(curve().sign(claims(), "ES256"))}) {
        EXPECT_EQ(reading.fault, std::nullopt);
        EXPECT_EQ(reading.claims.at("tenant"), "acme");
        EXPECT_EQ(reading.claims.at("level"), "3");
    }
}

TEST_F(TokenTest, ASignatureOfAnotherKeyIsRefused) {
    EXPECT_EQ(read(SigningKey::rsa("r1").sign(claims(), "RS256")).fault, TokenFault::signature);
    EXPECT_EQ(read(SigningKey::p256("e1").sign(claims(), "ES256")).fault, TokenFault::signature);
}

TEST_F(TokenTest, WhatWasChangedAfterwardsIsRefused) {
    const std::string token = rsa().sign(claims(), "RS256");
    const std::size_t first = token.find('.'), second = token.rfind('.');
    const std::string other = test::base64url(claims({{"tenant", "other"}}).dump());
    EXPECT_EQ(read(token.substr(0, first + 1) + other + token.substr(second)).fault,
              TokenFault::signature);
    EXPECT_EQ(read(token.substr(0, second + 1)).fault, TokenFault::signature);
}

TEST_F(TokenTest, PaddingAndCriticalExtensionsAreRefusedWhateverTheirValue) {
    const std::string good = rsa().sign(claims(), "RS256");
    ASSERT_EQ(read(good).fault, std::nullopt);
    EXPECT_EQ(read(good + "=").fault, TokenFault::malformed);
    EXPECT_EQ(read(good + "==").fault, TokenFault::malformed);
    for (const char* critical : {"null", "[]", "[\"b64\"]", "1"}) {
        const std::string head =
            R"({"alg":"RS256","kid":"r1","crit":)" + std::string(critical) + "}";
        const std::string token = test::base64url(head) + good.substr(good.find('.'));
        EXPECT_EQ(read(token).fault, TokenFault::malformed) << critical;
    }
}

TEST_F(TokenTest, AlgorithmNoneIsRefused) {
    for (const char* name : {"none", "None", "NONE", ""}) {
        const std::string token = test::base64url(json{{"alg", name}}.dump()) + "." +
                                  test::base64url(claims().dump()) + ".";
        EXPECT_TRUE(read(token).fault) << name;
    }
    const std::string none =
        test::base64url(R"({"alg":"none"})") + "." + test::base64url(claims().dump()) + ".";
    EXPECT_EQ(read(none).fault, TokenFault::algorithm);
    EXPECT_TRUE(
        read(test::base64url(R"({"typ":"JWT"})") + "." + test::base64url("{}") + ".").fault);
}

// Otherwise an owner of the public key could sign with it, as if it were a secret.
TEST_F(TokenTest, APublicKeyIsNoSecret) {
    const SigningKey forged = SigningKey::symmetric(rsa().public_part().dump());
    EXPECT_EQ(read(forged.sign(claims(), "HS256")).fault, TokenFault::algorithm);
    // Not even where the set itself has a secret.
    const KeySet with_secret = keys({forged.public_part(), {{"kty", "oct"}, {"k", "c2VjcmV0"}}});
    EXPECT_EQ(with_secret.keys.size(), 0U);
}

TEST_F(TokenTest, AKeyIsForItsOwnAlgorithmAlone) {
    EXPECT_EQ(read(rsa().sign(claims(), "PS256")).fault, TokenFault::algorithm);
    EXPECT_EQ(read(rsa().sign(claims(), "RS512")).fault, TokenFault::algorithm);
    // A header that names another key's id finds no key of its algorithm.
    const KeySet renamed = [] {
        json part = curve().public_part();
        part["kid"] = "r1";
        return keys({part});
    }();
    EXPECT_EQ(read_token(rsa().sign(claims(), "RS256"), renamed, options_, at).fault,
              TokenFault::unknown_key);
}

TEST_F(TokenTest, TheKeyIsFoundByItsId) {
    const KeySet both = keys({SigningKey::rsa("r0").public_part(), rsa().public_part()});
    EXPECT_EQ(read_token(rsa().sign(claims(), "RS256"), both, options_, at).fault, std::nullopt);
    EXPECT_EQ(read(SigningKey::rsa("r9").sign(claims(), "RS256")).fault, TokenFault::unknown_key);
}

TEST_F(TokenTest, WithoutAnIdOnlyWhereOneKeyFits) {
    const SigningKey nameless = SigningKey::rsa("");
    const std::string token = nameless.sign(claims(), "RS256");
    EXPECT_EQ(read_token(token, keys({nameless.public_part()}), options_, at).fault, std::nullopt);
    EXPECT_EQ(
        read_token(token, keys({nameless.public_part(), rsa().public_part()}), options_, at).fault,
        TokenFault::unknown_key);
}

TEST_F(TokenTest, TimesCountWithTheLeeway) {
    EXPECT_EQ(fault({{"exp", at.count() - 59}}), std::nullopt);
    EXPECT_EQ(fault({{"exp", at.count() - 60}}), TokenFault::expired);
    EXPECT_EQ(fault({{"exp", static_cast<double>(at.count()) + 0.5}}), std::nullopt);
    EXPECT_EQ(fault({{"nbf", at.count() + 60}}), std::nullopt);
    EXPECT_EQ(fault({{"nbf", at.count() + 61}}), TokenFault::not_yet);
    EXPECT_EQ(fault({{"exp", "tomorrow"}}), TokenFault::malformed);
    EXPECT_EQ(fault({{"exp", 1e300}}), TokenFault::malformed);
    EXPECT_EQ(fault({{"nbf", nullptr}}), TokenFault::malformed);
}

// It would be good for ever once it is lost.
TEST_F(TokenTest, OneWithoutAnEndIsRefused) {
    json endless = claims();
    endless.erase("exp");
    EXPECT_EQ(read(rsa().sign(endless, "RS256")).fault, TokenFault::expired);
}

TEST_F(TokenTest, IssuerAndAudienceMustBeTheOnesThatAreAskedFor) {
    EXPECT_EQ(fault({{"iss", "https://other.example"}}), TokenFault::issuer);
    EXPECT_EQ(fault({{"iss", nullptr}}), TokenFault::issuer);
    EXPECT_EQ(fault({{"aud", "payments"}}), TokenFault::audience);
    EXPECT_EQ(fault({{"aud", {"payments", "both"}}}), std::nullopt);
    EXPECT_EQ(fault({{"aud", json::array()}}), TokenFault::audience);
    EXPECT_EQ(fault({{"aud", 1}}), TokenFault::audience);
}

// RFC 7515, 4.1.11: an extension that has to be understood.
TEST_F(TokenTest, ACriticalExtensionIsRefused) {
    const std::string token =
        rsa().sign(claims(), "RS256", {{"crit", json::array({"exp"})}, {"exp", at.count() + 1}});
    EXPECT_EQ(read(token).fault, TokenFault::malformed);
}

TEST_F(TokenTest, WhatIsNoTokenIsMalformed) {
    for (const std::string& text :
         {std::string(""), std::string("."), std::string(".."), std::string("a.b.c"),
          std::string("a.b"), std::string(20'000, 'a'), std::string("=.=.=")}) {
        EXPECT_EQ(read(text).fault, TokenFault::malformed) << text.substr(0, 20);
    }
    EXPECT_EQ(read(rsa().sign(json::array({1}), "RS256")).fault, TokenFault::malformed);
}

TEST(KeySet, WhatIsNoKeySetIsNone) {
    for (const char* text : {"", "{", "[]", "{}", R"({"keys":{}})", "null"}) {
        EXPECT_FALSE(KeySet::parse(text)) << text;
    }
    EXPECT_EQ(KeySet::parse(R"({"keys":[]})")->keys.size(), 0U);
}

TEST(KeySet, KeysForSomethingElseAreLeftOut) {
    json encryption = rsa().public_part(), other = rsa().public_part(), wraps = rsa().public_part();
    encryption["use"] = "enc";
    other["alg"] = "RS512";
    wraps["key_ops"] = json::array({"wrapKey"});
    const KeySet set = keys({encryption,
                             other,
                             wraps,
                             json::array({1}),
                             {{"kty", "RSA"}},
                             SigningKey::rsa("weak", 1024).public_part()});
    EXPECT_EQ(set.keys.size(), 0U);
}

TEST(BearerToken, IsWhatStandsBehindTheScheme) {
    EXPECT_EQ(bearer_token("Bearer a.b.c"), "a.b.c");
    EXPECT_EQ(bearer_token("bearer  a"), "a");
    for (const char* value : {"", "Bearer", "Bearer ", "Basic a", "Bearera", "Bearer a b"}) {
        EXPECT_EQ(bearer_token(value), std::nullopt) << value;
    }
}

}  // namespace
}  // namespace onceward
