// What the owner of a key is told of a request to an upstream, without repeating it.

#include "tests/integration/gateway/route_scene.h"
#include "tests/support/eventually.h"

namespace onceward::operator_tests {
namespace {

class UpstreamStatusTest : public RouteScene {
  protected:
    support::RawResponse status(const std::string& key, const std::string& tenant = "acme") {
        return send("GET", "/charge-keys", key, "", tenant);
    }
    nlohmann::json told(const std::string& key) { return nlohmann::json::parse(status(key).body); }
    // The key's row, as if another process had claimed it, so many seconds before its lease's end.
    void held_elsewhere(int seconds) {
        database().execute(
            "UPDATE leases SET state = 'in_flight', ended_at = NULL, lease_until = "
            "clock_timestamp() + interval '1 second' * $1",
            {std::to_string(seconds)});
    }
};

TEST_F(UpstreamStatusTest, AnEndIsToldWithTheStoredStatusAndAFreeKeyIsUnknown) {
    EXPECT_EQ(status("paid").status, 404);
    ASSERT_EQ(charge("paid", "yes").status, 201);
    ASSERT_EQ(charge("poor", "no").status, 402);
    ASSERT_EQ(charge("freed", "busy").status, 503);
    const support::RawResponse paid = status("\"paid\"");
    EXPECT_EQ(paid.status, 200);
    EXPECT_EQ(paid.body, R"({"state":"completed","status":201})");
    EXPECT_EQ(paid.headers.at("idempotency-key"), "\"paid\"");
    EXPECT_EQ(status("poor").body, R"({"state":"completed","status":402})");
    const support::RawResponse freed = status("freed");
    EXPECT_EQ(freed.status, 404);
    EXPECT_THAT(freed.body, HasSubstr("/onceward/problems/key-unknown"));
    EXPECT_EQ(status("paid", "other").status, 404);
    EXPECT_EQ(upstream_.calls().size(), 3U) << "asking calls nobody";
}

TEST_F(UpstreamStatusTest, WhileTheCallRunsTheQuestionDoesNotWaitForIt) {
    auto charged = std::async(std::launch::async, [&] { return charge("slow", "wait").status; });
    ASSERT_TRUE(support::eventually(std::chrono::seconds(20),
                                    [&] { return upstream_.calls().size() == 1; }));
    const auto body = told("slow");
    EXPECT_EQ(body["state"], "in-flight");
    EXPECT_GT(body["retry_after"], 0);
    EXPECT_LE(body["retry_after"], 60);
    EXPECT_EQ(body.size(), 2U) << "nothing of the inside";
    let_go();
    EXPECT_EQ(charged.get(), 201);
    EXPECT_EQ(told("slow")["state"], "completed");
}

TEST_F(UpstreamStatusTest, AnotherProcesssLeaseIsToldAndItsEndWithoutAWord) {
    ASSERT_EQ(charge("k", "yes").status, 201);
    held_elsewhere(3600);
    EXPECT_EQ(told("k")["state"], "in-flight");
    EXPECT_GT(told("k")["retry_after"], 3500);
    held_elsewhere(-1);
    EXPECT_EQ(status("k").body, R"({"state":"outcome-unknown"})");
    EXPECT_EQ(charge("k", "yes").status, 409) << "as the request itself is told";
}

TEST_F(UpstreamStatusTest, ASessionThatWasLostIsMadeAnew) {
    ASSERT_EQ(charge("k", "yes").status, 201);
    ASSERT_EQ(told("k")["state"], "completed");
    const std::string sessions =
        " FROM pg_stat_activity WHERE application_name = 'onceward status'";
    EXPECT_EQ(database().number("SELECT count(pg_terminate_backend(pid))" + sessions), 1);
    ASSERT_TRUE(support::eventually(std::chrono::seconds(20), [&] {
        return database().number("SELECT count(*)" + sessions) == 0;
    }));
    EXPECT_EQ(told("k")["state"], "completed");
}

}  // namespace
}  // namespace onceward::operator_tests
