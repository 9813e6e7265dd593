#include "consumer/registry/schema_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "given_registry.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using State = SchemaAnswer::State;

constexpr auto long_enough = 30s;

SchemaCacheOptions options() { return {.name = "main", .addresses = {"http://one"}}; }

TEST(SchemaCache, FindDoesNotWaitForTheFetchAndTellsWhenItHasEnded) {
    std::promise<void> let;
    const std::shared_future<void> go = let.get_future().share();
    SchemaCache cache(options(), [go](const std::string&, const std::stop_token&) {
        go.wait();
        return test::schema_reply(R"("schema":"x")");
    });
    std::promise<void> told;
    std::atomic<int> calls = 0;
    const SchemaCache::Listener listener(cache, [&] {
        if (calls++ == 0) told.set_value();
    });
    EXPECT_EQ(cache.find({17, ""}).state, State::pending);
    EXPECT_EQ(calls, 0);
    let.set_value();
    ASSERT_EQ(told.get_future().wait_for(long_enough), std::future_status::ready);
    EXPECT_EQ(cache.find({17, ""}).state, State::known);
}

TEST(SchemaCache, ACommandWaitsForTheAnswer) {
    const auto cache = std::make_shared<SchemaCache>(
        options(), [](const std::string& address, const std::stop_token&) {
            if (address.ends_with("/18")) {
                return RegistryReply{.status = 404, .body = R"({"error_code":40403})"};
            }
            return test::schema_reply(R"("schema":"x")");
        });
    PatientSchemaSource source(cache, long_enough);
    EXPECT_EQ(source.find({17, ""}).state, State::known);
    EXPECT_EQ(source.find({18, ""}).state, State::unknown);
    EXPECT_EQ(cache->counts().fetches.found, 1);
    EXPECT_EQ(cache->counts().fetches.unknown, 1);
    EXPECT_EQ(cache->counts().name, "main");
}

TEST(SchemaCache, ARegistryThatReturnsIsNoticedWithoutAnotherQuestion) {
    std::atomic<int> asked = 0;
    SchemaCache cache(options(), [&](const std::string&, const std::stop_token&) {
        return asked++ == 0 ? test::unreachable() : test::schema_reply(R"("schema":"x")");
    });
    EXPECT_EQ(cache.wait_for({17, ""}, long_enough).state, State::known);
    EXPECT_EQ(cache.counts().fetches.failed, 1);
    EXPECT_EQ(cache.counts().trouble, "");
}

TEST(SchemaCache, ItEndsWhileAFetchIsUnderWay) {
    std::promise<void> under_way;
    {
        SchemaCache cache(options(), [&](const std::string&, const std::stop_token& stop) {
            std::promise<void> stopped;
            const std::stop_callback on_stop(stop, [&] { stopped.set_value(); });
            under_way.set_value();
            stopped.get_future().wait();
            return test::unreachable();
        });
        cache.find({17, ""});
        under_way.get_future().wait();
    }
    SUCCEED();
}

TEST(SchemaCache, AListenerThatHasEndedIsNotCalled) {
    std::atomic<int> calls = 0;
    const auto cache = std::make_shared<SchemaCache>(
        options(), [](const std::string&, const std::stop_token&) {
            return test::schema_reply(R"("schema":"x")");
        });
    { const SchemaCache::Listener listener(*cache, [&] { ++calls; }); }
    EXPECT_EQ(cache->wait_for({17, ""}, long_enough).state, State::known);
    EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace onceward
