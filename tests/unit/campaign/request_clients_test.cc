// The clients of a seed's routes against a front door that is made up, and its honest and dishonest
// answers before the judge.

#include "tests/faults/campaign/request_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "tests/faults/checker/checks.h"
#include "tests/faults/checker/produced_list.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"

namespace onceward::campaign {
namespace {

using namespace std::chrono_literals;
using support::RecordedAnswer;
using support::RecordedCall;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t enough = 150;

// What a worker's routes do, without a database.
class MadeUpDoor {
  public:
    enum class Manner : std::uint8_t { honest, forgetful, away };
    explicit MadeUpDoor(Manner manner) : manner_(manner) {}

    RecordedAnswer answer(const RecordedCall& call) {
        const std::lock_guard lock(mutex_);
        ++calls_;
        if (manner_ == Manner::away || calls_ % 7 == 0) return {.status = 503};
        const std::string key = call.header("idempotency-key");
        const auto [known, fresh] = done_.try_emplace(key, Done{call.body, 0});
        if (!fresh && known->second.body != call.body) {
            return {.status = 422, .body = R"({"type": "/onceward/problems/key-reused"})"};
        }
        if (path_of(key) == "/" + key) {
            if (fresh || manner_ == Manner::forgetful) call_on(key, call);
            RecordedAnswer told{.status = 201, .body = "told"};
            if (!fresh) told.headers.emplace("Idempotent-Replayed", "true");
            return told;
        }
        if (fresh || manner_ == Manner::forgetful) known->second.effect = take_effect(key, call);
        RecordedAnswer answer{.status = call.path == "/entries" ? 204 : 200};
        if (answer.status == 200) {
            answer.body = "{\"effect\": " + std::to_string(known->second.effect) + "}";
        }
        if (!fresh) answer.headers.emplace("Idempotent-Replayed", "true");
        return answer;
    }
    std::size_t effects() const {
        const std::lock_guard lock(mutex_);
        return evidence_.request_effects.size();
    }
    std::size_t calls() const {
        const std::lock_guard lock(mutex_);
        return calls_;
    }
    checker::Evidence evidence() const {
        const std::lock_guard lock(mutex_);
        return evidence_;
    }

  private:
    struct Done {
        std::string body;
        std::int64_t effect;
    };
    static std::string body_of(const RecordedCall& call) {
        return call.body.find('2') == std::string::npos ? "1" : "2";
    }
    // Who forgets the key has forgotten the one that goes along with it.
    void call_on(const std::string& key, const RecordedCall& call) {
        const std::string number = std::to_string(evidence_.route_calls.size());
        evidence_.route_calls.push_back(
            {.request = key, .body = body_of(call), .key = number, .status = 201});
    }
    // Each in a transaction of its own, with its claim and its answer.
    std::int64_t take_effect(const std::string& key, const RecordedCall& call) {
        const auto number = static_cast<std::int64_t>(evidence_.request_effects.size()) + 1;
        const auto transaction = static_cast<checker::Transaction>(number);
        const std::string body = body_of(call);
        evidence_.request_effects.push_back(
            {.number = number, .key = key, .body = body, .transaction = transaction});
        const std::string digest = "digest " + std::to_string(number);
        evidence_.request_claims.push_back(
            {.ledger = 1, .digest = digest, .transaction = transaction});
        evidence_.stored_answers.push_back(
            {.ledger = 1, .digest = digest, .transaction = transaction, .effect = number});
        return number;
    }

    Manner manner_;
    mutable std::mutex mutex_;
    std::size_t calls_ = 0;
    std::map<std::string, Done> done_;
    checker::Evidence evidence_;
};

class CampaignRequests : public ::testing::Test {
  protected:
    explicit CampaignRequests(MadeUpDoor::Manner manner = MadeUpDoor::Manner::honest)
        : door_(manner) {
        plan_.fleet.processes = 2;
        plan_.requests = {.clients = 3, .shared = 30, .other_bodies = 20};
    }
    ~CampaignRequests() override { std::filesystem::remove(list_); }

    std::vector<std::uint16_t> doors() const {
        // Nobody listens at the last one.
        return {static_cast<std::uint16_t>(one_.port()), static_cast<std::uint16_t>(two_.port()),
                1};
    }
    checker::Verdict judged() const {
        checker::Evidence evidence = door_.evidence();
        checker::load_requests(list_, evidence);
        return checker::judge(evidence);
    }

    Plan plan_ = draw_plan(1);
    MadeUpDoor door_;
    support::RecordingServer one_{[this](const auto& call, int) { return door_.answer(call); }};
    support::RecordingServer two_{[this](const auto& call, int) { return door_.answer(call); }};
    std::filesystem::path list_ =
        std::filesystem::temp_directory_path() / (support::unique_name("requests") + ".ndjson");
};

TEST_F(CampaignRequests, AreSentUntilTheyAreToldAndWrittenDown) {
    RequestClients clients(plan_, doors(), list_);
    ASSERT_TRUE(support::eventually(30s, [&] { return door_.effects() >= enough; }));
    EXPECT_THAT(clients.finish(10s), IsEmpty());
    const checker::Verdict verdict = judged();
    EXPECT_THAT(verdict.violations, IsEmpty());
    EXPECT_GT(verdict.numbers.requests, static_cast<std::int64_t>(enough));
    checker::Evidence sent;
    checker::load_requests(list_, sent);
    int lost = 0, replayed = 0, conflicts = 0;
    for (const checker::Request& request : sent.requests) {
        lost += request.status == 0 ? 1 : 0;
        replayed += request.replayed ? 1 : 0;
        conflicts += request.status == 422 ? 1 : 0;
    }
    EXPECT_GT(lost, 0);
    EXPECT_GT(replayed, 0);
    EXPECT_GT(conflicts, 0);
}

class CampaignRequestsToTheForgetful : public CampaignRequests {
  protected:
    CampaignRequestsToTheForgetful() : CampaignRequests(MadeUpDoor::Manner::forgetful) {}
};

TEST_F(CampaignRequestsToTheForgetful, AreFoundToHaveTakenEffectTwice) {
    RequestClients clients(plan_, doors(), list_);
    ASSERT_TRUE(support::eventually(30s, [&] { return door_.effects() >= enough; }));
    clients.finish(10s);
    const checker::Verdict verdict = judged();
    EXPECT_GT(verdict.numbers.twice, 0);
    EXPECT_THAT(verdict.violations, Not(IsEmpty()));
}

class CampaignRequestsToNobody : public CampaignRequests {
  protected:
    CampaignRequestsToNobody() : CampaignRequests(MadeUpDoor::Manner::away) {}
};

TEST_F(CampaignRequestsToNobody, AreNamedWhereTheyWereToldNothing) {
    RequestClients clients(plan_, doors(), list_);
    ASSERT_TRUE(support::eventually(30s, [&] { return door_.calls() >= 10; }));
    EXPECT_THAT(clients.finish(100ms), Not(IsEmpty()));
    EXPECT_THAT(judged().violations, IsEmpty()) << "a key that was told nothing may have no effect";
}

}  // namespace
}  // namespace onceward::campaign
