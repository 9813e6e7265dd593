// The client's rules apart from any server: keys, verdicts, pauses.

#include <gmock/gmock.h>

#include <set>

#include "clients/cpp/keys.h"
#include "clients/cpp/policy.h"

namespace onceward::client {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST(ClientKeys, AreStrongAndDifferentWhereTheyAreMinted) {
    std::set<std::string> keys;
    for (int i = 0; i < 1000; ++i) {
        const std::string key = mint_key();
        EXPECT_EQ(weakness(key, ""), "") << key;
        keys.insert(key);
    }
    EXPECT_EQ(keys.size(), 1000U);
}

TEST(ClientKeys, OfVersionSevenHaveTheirTimeAndAreStrong) {
    const auto now = [] {
        const auto time = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<milliseconds>(time).count();
    };
    const auto before = now();
    std::set<std::string> keys;
    for (int i = 0; i < 1000; ++i) {
        std::string key = mint_key(true);
        EXPECT_EQ(key.at(14), '7') << key;
        EXPECT_EQ(weakness(key, ""), "") << key;
        const auto time = std::stoll(key.substr(0, 8) + key.substr(9, 4), nullptr, 16);
        EXPECT_LE(before, time);
        EXPECT_LE(time, now());
        keys.insert(std::move(key));
    }
    EXPECT_EQ(keys.size(), 1000U);
}

TEST(ClientKeys, ThatAreWeakAreKnown) {
    const std::string payment = "payment-of-november-2026-000";
    EXPECT_NE(weakness("1732295000123", ""), "");
    EXPECT_NE(weakness("order-17", ""), "");
    EXPECT_NE(weakness(std::string(36, 'a'), ""), "");
    EXPECT_NE(weakness("00000000-0000-0000-0000-000000000000", ""), "");
    EXPECT_NE(weakness(payment + "124", payment + "123"), "");
    EXPECT_NE(weakness(payment + "199", payment + "200"), "");
    EXPECT_EQ(weakness(payment + "124", payment + "017"), "");
    EXPECT_EQ(weakness("018f6d6e-7b1c-7cc3-98c4-dc0c", payment + "123"), "");
}

TEST(ClientKeys, ThatNoHeaderCanHoldAreRefused) {
    for (const std::string& key :
         {std::string(), std::string("a b"), std::string("a,b"), std::string("a\"b"),
          std::string("a\\b"), std::string("a\n"), std::string("\u00e4"), std::string(256, 'a')}) {
        EXPECT_THROW(check_key(key), std::invalid_argument) << key;
    }
    EXPECT_NO_THROW(check_key(std::string(255, '~')));
}

TEST(ClientPolicy, PausesGrowUpToTheirBoundAndAreNeverTheSame) {
    const Retries retries{.backoff = 1000ms, .backoff_max = 5000ms};
    const std::vector<std::pair<int, milliseconds>> bounds{
        {1, 1000ms}, {2, 2000ms}, {3, 4000ms}, {4, 5000ms}, {90, 5000ms}, {1'000'000'000, 5000ms}};
    for (const auto& [failures, whole] : bounds) {
        std::set<milliseconds> drawn;
        for (int i = 0; i < 50; ++i) drawn.insert(pause(retries, failures, std::nullopt));
        EXPECT_GE(*drawn.begin(), whole / 2);
        EXPECT_LE(*drawn.rbegin(), whole);
        EXPECT_GT(drawn.size(), 20U);
    }
    EXPECT_GE(pause(retries, 1, 7000ms), 7500ms);
    EXPECT_EQ(pause({.backoff = 0ms}, 1'000'000'000, 7000ms), 7000ms);
    EXPECT_GE(in_flight_pause(retries, 3000ms), 3000ms);
    EXPECT_LE(in_flight_pause(retries, 3000ms), 4000ms);
    EXPECT_GE(in_flight_pause(retries, std::nullopt), 1000ms);
}

TEST(ClientPolicy, RetryAfterIsSecondsOrADate) {
    constexpr std::chrono::seconds noon(1795348800);  // 22 November 2026, 12:00 UTC
    EXPECT_EQ(parse_retry_after("7", noon), 7000ms);
    EXPECT_EQ(parse_retry_after("Sun, 22 Nov 2026 12:00:09 GMT", noon), 9000ms);
    EXPECT_EQ(parse_retry_after("Sun, 22 Nov 2026 11:00:00 GMT", noon), 0ms);
    EXPECT_EQ(parse_retry_after("1, 7,3", noon), 7000ms);
    for (const char* text : {"", "-1", "soon", "1.5", "GMT", "1, soon",
                             "Sun, 22 Nov 2026 12:00:09 GMT, Sun, 22 Nov 2026 12:00:10 GMT"}) {
        EXPECT_EQ(parse_retry_after(text, noon), std::nullopt) << text;
    }
}

TEST(ClientPolicy, AnAnswerIsReplayedWhereEveryHeaderSaysSo) {
    for (const char* text : {"true", "True", "true, true"}) EXPECT_TRUE(parse_replayed(text));
    for (const char* text : {"", "false", "true, false", "true,", "yes"}) {
        EXPECT_FALSE(parse_replayed(text)) << text;
    }
}

TEST(ClientKeys, AFingerprintIsTheSameInAllLanguages) {
    EXPECT_EQ(fingerprint_of("POST", "/orders/7?a=b", R"({"amount":"1.50"})"),
              "62eeaf2c54b0008c66eba9b462238ab60d0fbb8ede8f47071ab1a761e5c8a3fd");
}

TEST(ClientPolicy, SaysWhatSettlesAnOperation) {
    EXPECT_TRUE(settles(200, false, true));
    EXPECT_TRUE(settles(303, false, false));
    EXPECT_FALSE(settles(302, false, true));
    EXPECT_TRUE(settles(303, true, true));
    EXPECT_TRUE(settles(404, false, false));
    EXPECT_FALSE(settles(404, false, true));
    EXPECT_TRUE(settles(404, true, true));
    EXPECT_TRUE(settles(410, false, true));
    EXPECT_TRUE(settles(422, false, true));
    EXPECT_FALSE(settles(409, false, false));
    EXPECT_FALSE(settles(429, false, false));
    EXPECT_FALSE(settles(503, false, false));
    EXPECT_TRUE(settles(500, true, true));
}

}  // namespace
}  // namespace onceward::client
