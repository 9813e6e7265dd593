// Routes to an upstream under SIGKILL: two processes of `onceward serve` die at steps of a call,
// while the upstream has one in hand, and at any time, while clients send each request again until
// they are told what became of it. The upstream writes down each call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <span>
#include <thread>

#include "tests/faults/call_judge.h"
#include "tests/faults/crash_scene.h"
#include "tests/faults/serving.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

using std::chrono::milliseconds;
using support::RawClient;
using support::RawResponse;
using support::RecordedAnswer;
using support::RecordedCall;

// Where a process ends: at a step of a call, or while the upstream has one in hand.
constexpr const char* in_the_call = "in the call";
constexpr std::array<const char*, 6> deaths{"before_begin", "after_claims",  in_the_call,
                                            "after_sink",   "before_commit", "after_commit"};
const std::map<std::string, UpstreamPromise> promises{
    {"release", {.honours_key = true, .held = false}},
    {"hold", {.honours_key = true}},
    {"once", {}}};
// A call begins in the first half of its lease of four seconds: the next one comes in the second.
constexpr milliseconds held_apart{1000};

std::string route_of(const std::string& key) { return key.substr(0, key.find('/')); }

// The upstream of the routes. Thread-safe.
class Upstream {
  public:
    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
    // Nothing that this process calls from now on is answered before let_go().
    void hold(const std::string& process) {
        const std::lock_guard lock(mutex_);
        held_ = process;
        waiting_ = 0;
    }
    bool has_one_in_hand() const {
        const std::lock_guard lock(mutex_);
        return waiting_ > 0;
    }
    void let_go() {
        const std::lock_guard lock(mutex_);
        held_.clear();
        changed_.notify_all();
    }
    std::vector<SeenCall> calls() const {
        const std::lock_guard lock(mutex_);
        return calls_;
    }

  private:
    RecordedAnswer answer(const RecordedCall& call, int number) {
        const Moment now = std::chrono::steady_clock::now();
        SeenCall seen{.key = call.path.substr(1),
                      .downstream = call.header("idempotency-key"),
                      .amount = nlohmann::json::parse(call.body).at("amount").get<std::int64_t>(),
                      .at = now};
        std::unique_lock lock(mutex_);
        decide(seen, number);
        const std::string process = call.header("x-process");
        const bool held = process == held_;
        const RecordedAnswer answered{
            .status = seen.status, .body = seen.body, .cut_off = seen.cut_off};
        seen.cut_off = seen.cut_off || held;
        calls_.push_back(std::move(seen));
        if (held) {
            ++waiting_;
            changed_.wait_for(lock, patience, [&] { return held_ != process; });
        }
        return answered;
    }
    // By the number that the key ends with.
    void decide(SeenCall& seen, int number) {
        const int kind = std::stoi(seen.key.substr(seen.key.rfind('-') + 1)) % 10;
        if (kind == 0 && number == 1) {
            seen.status = 503;
            seen.body = "busy";
            return;
        }
        seen.status = kind == 2 ? 402 : 201;
        seen.cut_off = kind == 1 && number == 1;
        // Who honours the key makes one effect of all its calls, who does not one of each.
        const std::size_t next = effects_.size() + 1;
        const std::string effect = promises.at(route_of(seen.key)).honours_key
                                       ? seen.downstream
                                       : std::to_string(calls_.size());
        seen.body = "effect " + std::to_string(effects_.try_emplace(effect, next).first->second);
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::string held_;
    int waiting_ = 0;
    std::map<std::string, std::size_t> effects_;
    std::vector<SeenCall> calls_;
    // The last member: its threads use the others.
    support::RecordingServer server_{
        [this](const RecordedCall& call, int number) { return answer(call, number); }};
};

class Caller {
  public:
    Caller(std::array<Doors, 2> doors, std::uint64_t seed, std::string name,
           std::atomic<int>& common)
        : doors_(doors), random_(seed), name_(std::move(name)), common_(common) {}

    // New keys until it is stopped; then what is still open is asked for until it is decided.
    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) one();
        ask(std::move(open_));
    }
    void ask(std::set<std::string> keys) {
        support::eventually(patience, [&] {
            std::erase_if(keys, [&](const auto& key) { return attempt(key, first_amount); });
            return keys.empty();
        });
        undecided_.insert(keys.begin(), keys.end());
    }
    void add_to(CallEvidence& evidence) const {
        evidence.sent.insert(sent_.begin(), sent_.end());
        evidence.undecided.insert(undecided_.begin(), undecided_.end());
        evidence.reused.insert(reused_.begin(), reused_.end());
        evidence.answers.insert(evidence.answers.end(), answers_.begin(), answers_.end());
    }

  private:
    std::uint64_t draw(std::uint64_t below) { return random_() % below; }
    void one() {
        // A third of the keys are those of several clients at once.
        const bool common = draw(3) == 0;
        const std::uint64_t number =
            common ? static_cast<std::uint64_t>(common_++ / 6) : sent_.size();
        const auto route =
            std::next(promises.begin(),
                      static_cast<std::ptrdiff_t>((common ? number : draw(3)) % promises.size()));
        const std::string key =
            route->first + "/" + (common ? "common" : name_) + "-" + std::to_string(number);
        sent_.push_back(key);
        bool decided = false;
        for (int tries = 0; tries < 3 && !decided; ++tries) decided = attempt(key, first_amount);
        // Who is held does not hold up the others.
        if (!decided) open_.insert(key);
        const std::string& earlier = sent_[draw(sent_.size())];
        if (draw(2) == 0 && attempt(earlier, first_amount)) open_.erase(earlier);
        if (decided && draw(6) == 0) {
            reused_.insert(key);
            attempt(key, first_amount + 1);
        }
    }
    // Whether it is decided.
    bool attempt(const std::string& key, std::int64_t amount) try {
        const Doors& doors = doors_[draw(2)];
        const std::uint64_t way = draw(10);
        const Moment asked = std::chrono::steady_clock::now();
        RawClient connection(way == 0 ? doors.cutting : doors.open);
        const std::string body = "{\"amount\":" + std::to_string(amount) + "}";
        connection.send("POST /" + key + " HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: " + key +
                        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        if (way == 1) return false;  // it waits for nothing
        const std::optional<RawResponse> response = connection.receive();
        if (!response) return false;
        ToldAnswer answer{.key = key,
                          .amount = amount,
                          .status = response->status,
                          .body = response->body,
                          .replayed = response->headers.contains("idempotent-replayed"),
                          .asked = asked,
                          .told = std::chrono::steady_clock::now()};
        const auto document = nlohmann::json::parse(response->body, nullptr, false);
        if (document.is_object()) answer.type = document.value("type", "");
        answers_.push_back(std::move(answer));
        return is_definitive(answers_.back());
    } catch (const std::runtime_error&) {
        return false;  // nobody listens just now
    }

    std::array<Doors, 2> doors_;
    std::mt19937_64 random_;
    std::string name_;
    std::atomic<int>& common_;
    std::vector<std::string> sent_;
    std::set<std::string> open_, undecided_, reused_;
    std::vector<ToldAnswer> answers_;
};

// How much of what this test is for came about, by route.
std::map<std::string, int> keys_called_twice(std::span<const SeenCall> seen) {
    std::map<std::string, int> calls, routes;
    for (const SeenCall& call : seen) {
        if (!turned_down(call.status) && ++calls[call.key] == 2) ++routes[route_of(call.key)];
    }
    return routes;
}

class UpstreamUnderKills : public ::testing::Test {
  protected:
    UpstreamUnderKills() {
        std::filesystem::create_directories(folder_);
        for (const std::string& name : names_) {
            serving_.push_back(std::make_unique<Serving>(folder_, name, configuration(name)));
        }
    }
    ~UpstreamUnderKills() override {
        serving_.clear();
        if (HasFailure()) {
            std::cout << "the processes' logs are in " << folder_ << "\n";
            return;
        }
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::string configuration(const std::string& process) const {
        std::string text = "  routes:\n";
        for (const auto& [route, promise] : promises) {
            text += "    - method: POST\n      path: /" + route +
                    "/{id}\n      wait: 200ms\n      upstream: {url: '" + upstream_.url() +
                    "', timeout: 2s, concurrency: 4, allow_private: [127.0.0.1],\n" +
                    "                 headers: {X-Process: " + process +
                    "}, honours_key: " + (promise.honours_key ? "true" : "false") +
                    ", on_unknown: " + (promise.held ? "hold" : "release") +
                    "}\n      ledger: {name: bank/" + route +
                    ", store: lease, lease: 4s, retention: 1h, rotate_after: 7m}\n";
        }
        return text + "group: bank\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
               schema_.server().worker_dsn + "', schema: " + schema_.name() + "}\n";
    }
    Caller caller(const std::string& name) {
        return {{serving_[0]->doors(), serving_[1]->doors()}, random_(), name, common_};
    }
    void start() {
        for (const auto& serving : serving_) {
            if (!HasFatalFailure()) serving->start();
        }
    }
    void kill(std::size_t process, const std::string& death) {
        Serving& victim = *serving_[process];
        if (death != in_the_call) {
            victim.die_at(death + ":" + std::to_string(1 + random_() % 4));
            return;
        }
        victim.start();
        if (HasFatalFailure()) return;
        upstream_.hold(names_[process]);
        victim.kill_when([&] { return upstream_.has_one_in_hand(); });
        upstream_.let_go();
    }
    // While callers ask, each process is killed in turn: at any time, and at a place in a call.
    void kill_under_requests(CallEvidence& evidence) {
        std::vector<Caller> callers;
        for (const char* name : {"a", "b", "c", "d"}) callers.push_back(caller(name));
        std::vector<std::jthread> threads;
        for (Caller& each : callers) {
            threads.emplace_back([&each](const std::stop_token& stop) { each.run(stop); });
        }
        const char* kills = std::getenv("ONCEWARD_CRASH_KILLS");
        const auto rounds = kills == nullptr ? deaths.size() : std::stoul(kills) / 2;
        const std::size_t first = random_() % deaths.size();
        // On a busy machine a death may miss its moment: then there are more of them.
        const auto another = [&](std::size_t round) {
            return round < rounds || (round < 4 * rounds && !both_were_called_twice());
        };
        for (std::size_t round = 0; another(round) && !HasFatalFailure(); ++round) {
            const std::size_t process = round % serving_.size();
            serving_[process]->kill_after(milliseconds(random_() % 200));
            if (!HasFatalFailure()) kill(process, deaths[(first + round) % deaths.size()]);
            if (!HasFatalFailure()) serving_[process]->start();
        }
        for (std::jthread& thread : threads) thread.request_stop();
        threads.clear();
        for (const Caller& each : callers) each.add_to(evidence);
    }
    bool both_were_called_twice() const {
        std::map<std::string, int> twice = keys_called_twice(upstream_.calls());
        return twice["release"] > 0 && twice["hold"] > 0;
    }
    // What processes answer that have seen none of it.
    void ask_again(CallEvidence& evidence) {
        for (const auto& serving : serving_) serving->stop();
        start();
        if (HasFatalFailure()) return;
        std::set<std::string> some;
        const std::size_t stride = evidence.sent.size() / 100 + 1;
        std::size_t place = 0;
        for (const std::string& key : evidence.sent) {
            if (place++ % stride == 0) some.insert(key);
        }
        Caller late = caller("late");
        late.ask(std::move(some));
        late.add_to(evidence);
        for (const auto& serving : serving_) serving->stop();
    }

    std::mt19937_64 random_{support::seed()};
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("onceward-upstream");
    support::FreshSchema schema_;
    Upstream upstream_;
    const std::vector<std::string> names_{"one", "two"};
    std::vector<std::unique_ptr<Serving>> serving_;
    std::atomic<int> common_ = 0;
};

TEST_F(UpstreamUnderKills, NobodyIsCalledAgainButWhoHonoursTheKeyAndAnswersStay) {
    start();
    ASSERT_FALSE(HasFatalFailure());
    CallEvidence seen{.routes = promises, .apart = held_apart};
    kill_under_requests(seen);
    ASSERT_FALSE(HasFatalFailure());
    ask_again(seen);
    ASSERT_FALSE(HasFatalFailure());
    seen.calls = upstream_.calls();

    EXPECT_THAT(judge_calls(seen), ::testing::IsEmpty());
    std::set<std::string> called, in_doubt_and_called, had_the_first, had_another;
    for (const SeenCall& call : seen.calls) called.insert(call.key);
    for (const ToldAnswer& answer : seen.answers) {
        if (is_final(answer)) (answer.replayed ? had_another : had_the_first).insert(answer.key);
        if (is_outcome_unknown(answer) && called.contains(answer.key)) {
            in_doubt_and_called.insert(answer.key);
        }
    }
    std::erase_if(had_another, [&](const auto& key) { return had_the_first.contains(key); });
    std::map<std::string, int> twice = keys_called_twice(seen.calls);
    std::cout << seen.sent.size() << " keys, " << seen.calls.size() << " calls, "
              << seen.answers.size() << " answers, called twice: " << twice["release"]
              << " released and " << twice["hold"]
              << " held, in doubt after a call: " << in_doubt_and_called.size()
              << ", the first answer of " << had_another.size() << " keys was lost\n";
    EXPECT_GT(twice["release"], 0);
    EXPECT_GT(twice["hold"], 0);
    EXPECT_FALSE(in_doubt_and_called.empty());
    EXPECT_FALSE(had_another.empty()) << "no answer was lost";
}

}  // namespace
}  // namespace onceward::faults
