#include "gateway/checks/key_set_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/support/eventually.h"
#include "tests/unit/gateway/signing_key.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using support::eventually;

// An issuer whose answers the test sets.
class KeySetCacheTest : public ::testing::Test {
  protected:
    KeySetCacheOptions options(std::chrono::milliseconds every, std::chrono::milliseconds pause) {
        return {.fetch = [this]() -> std::optional<std::string> {
                    ++fetches_;
                    if (away_) throw std::runtime_error("away");
                    return test::key_set(std::vector<nlohmann::json>(
                        static_cast<std::size_t>(keys_), key_.public_part()));
                },
                .every = every,
                .pause = pause};
    }
    static std::size_t size(const KeySetCache& cache) {
        const auto keys = cache.current();
        return keys ? keys->keys.size() : 0;
    }
    test::SigningKey key_ = test::SigningKey::p256("e1");
    std::atomic<int> fetches_{0};
    std::atomic<int> keys_{1};
    std::atomic<bool> away_{false};
};

TEST_F(KeySetCacheTest, TheKeysAreFetchedAtTheStartAndAgain) {
    KeySetCache cache(options(20ms, 1ms));
    EXPECT_TRUE(eventually(10s, [&] { return size(cache) == 1; }));
    keys_ = 2;
    EXPECT_TRUE(eventually(10s, [&] { return size(cache) == 2; }));
}

TEST_F(KeySetCacheTest, WithoutTheIssuerTheOldKeysStay) {
    KeySetCache cache(options(10ms, 1ms));
    ASSERT_TRUE(eventually(10s, [&] { return size(cache) == 1; }));
    away_ = true;
    const int before = fetches_;
    ASSERT_TRUE(eventually(10s, [&] { return fetches_ > before + 2; }));
    EXPECT_EQ(size(cache), 1U);
}

TEST_F(KeySetCacheTest, AStartWithoutTheIssuerIsTriedAgain) {
    away_ = true;
    KeySetCache cache(options(1h, 10ms));
    ASSERT_TRUE(eventually(10s, [&] { return fetches_ > 2; }));
    EXPECT_EQ(cache.current(), nullptr);
    away_ = false;
    EXPECT_TRUE(eventually(10s, [&] { return size(cache) == 1; }));
}

TEST_F(KeySetCacheTest, WhoeverWantsNewKeysGetsThemBeforeTheirTime) {
    KeySetCache cache(options(1h, 10ms));
    ASSERT_TRUE(eventually(10s, [&] { return size(cache) == 1; }));
    keys_ = 2;
    std::chrono::milliseconds left = 1h;
    EXPECT_TRUE(eventually(10s, [&] {
        std::promise<std::chrono::milliseconds> done;
        cache.refreshed([&](std::chrono::milliseconds told) { done.set_value(told); });
        left = done.get_future().get();
        return size(cache) == 2;
    }));
    EXPECT_EQ(left, 0ms) << "they are what the issuer has now";
}

TEST_F(KeySetCacheTest, KeysWhoseLastFetchFailedMayLackOne) {
    KeySetCache cache(options(10ms, 1ms));
    ASSERT_TRUE(eventually(10s, [&] { return size(cache) == 1; }));
    EXPECT_FALSE(cache.outdated());
    away_ = true;
    EXPECT_TRUE(eventually(10s, [&] { return cache.outdated(); }));
    away_ = false;
    EXPECT_TRUE(eventually(10s, [&] { return !cache.outdated(); }));
}

// A stranger who makes key ids up must not make us a burden to the issuer.
TEST_F(KeySetCacheTest, WithinThePauseTheAnswerComesAtOnceAndTheIssuerIsNotAsked) {
    KeySetCache cache(options(1h, 1h));
    ASSERT_TRUE(eventually(10s, [&] { return size(cache) == 1; }));
    int called = 0;
    for (int i = 0; i < 100; ++i) {
        cache.refreshed([&](std::chrono::milliseconds left) {
            ++called;
            EXPECT_GT(left, 50min) << "the answer has the time of the next possible fetch";
            EXPECT_LE(left, 1h);
        });
    }
    EXPECT_EQ(called, 100);
    EXPECT_EQ(fetches_, 1);
}

}  // namespace
}  // namespace onceward
