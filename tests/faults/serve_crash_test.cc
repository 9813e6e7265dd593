// `onceward serve` under SIGKILL: two processes of one configuration die at steps of a request's
// transaction and at any time, connections end between request and answer, and clients send each
// request again until they are told what became of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/faults/crash_scene.h"
#include "tests/faults/request_judge.h"
#include "tests/faults/serving.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

using std::chrono::milliseconds;
using support::RawClient;
using support::RawResponse;

// Where a request can be killed: it has no fence and no offset.
constexpr std::array<const char*, 5> steps{"before_begin", "after_claims", "after_sink",
                                           "before_commit", "after_commit"};

class Client {
  public:
    Client(std::array<Doors, 2> doors, std::uint64_t seed, std::string name,
           std::atomic<int>& common)
        : doors_(doors), random_(seed), name_(std::move(name)), common_(common) {}

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) one();
    }
    // Sends it until it gets a definitive answer.
    void ask(const std::string& key, std::int64_t amount) {
        seen_.sent[key].insert(amount);
        const bool decided = support::eventually(patience, [&] {
            const std::optional<int> status = attempt(key, amount);
            return status && definitive(*status);
        });
        if (!decided) seen_.undecided.insert(key);
    }
    const SeenRequests& seen() const { return seen_; }

  private:
    std::uint64_t draw(std::uint64_t below) { return random_() % below; }
    void one() {
        const std::string route = draw(2) == 0 ? "charges" : "entries";
        // A third of the keys are those of several clients at once, not all with the same body.
        const bool common = draw(3) == 0;
        const std::string key = common ? "common-" + std::to_string(common_++ / 6)
                                       : name_ + "-" + std::to_string(keys_.size());
        const std::int64_t amount = common && draw(5) == 0 ? 2 : 1;
        keys_.push_back(route + "/" + key);
        ask(keys_.back(), amount);
        if (draw(3) == 0) ask(keys_[draw(keys_.size())], 1);
        if (draw(6) == 0) ask(keys_.back(), 3 - amount);
    }
    // None if no answer came, or not all of it.
    std::optional<int> attempt(const std::string& key, std::int64_t amount) try {
        const Doors& doors = doors_[draw(2)];
        const std::uint64_t way = draw(10);
        RawClient connection(way == 0 ? doors.cutting : doors.open);
        const std::string body = "{\"amount\":" + std::to_string(amount) + "}";
        connection.send("POST /" + key.substr(0, key.find('/')) +
                        " HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: " + key +
                        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        if (way == 1) return std::nullopt;  // it waits for nothing
        const std::optional<RawResponse> response = connection.receive();
        if (!response) return std::nullopt;
        note(key, amount, *response);
        return response->status;
    } catch (const std::runtime_error&) {
        return std::nullopt;  // nobody listens just now
    }
    void note(const std::string& key, std::int64_t amount, const RawResponse& response) {
        SeenAnswer answer{.key = key,
                          .amount = amount,
                          .status = response.status,
                          .body = response.body,
                          .replayed = response.headers.contains("idempotent-replayed")};
        const auto document = nlohmann::json::parse(response.body, nullptr, false);
        if (document.is_object()) {
            answer.type = document.value("type", "");
            if (document.contains("effect")) answer.effect = document["effect"].get<std::int64_t>();
        }
        seen_.answers.push_back(std::move(answer));
    }

    std::array<Doors, 2> doors_;
    std::mt19937_64 random_;
    std::string name_;
    std::atomic<int>& common_;
    std::vector<std::string> keys_;
    SeenRequests seen_;
};

class ServeUnderKills : public ::testing::Test {
  protected:
    ServeUnderKills() {
        // No unique constraint: what takes effect twice must be there twice.
        const std::string table = schema_.user_table(
            "effects",
            "id bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL, amount bigint NOT NULL");
        schema_.database().execute(
            "CREATE FUNCTION charge(requests jsonb[]) RETURNS TABLE (effect bigint) LANGUAGE "
            "plpgsql SET search_path = " +
            schema_.name() +
            " AS $$ BEGIN RETURN QUERY INSERT INTO effects (key, amount) SELECT r.request ->> "
            "'key', (r.request ->> 'amount')::bigint FROM unnest(requests) WITH ORDINALITY AS r "
            "(request, place) ORDER BY r.place RETURNING effects.id; END $$");
        std::filesystem::create_directories(folder_);
        const std::string rest =
            "        columns: {key: {header: idempotency-key}, amount: /amount}\n"
            "      ledger: {name: bank/payments}\n";
        const std::string routes =
            "  routes:\n    - method: POST\n      path: /charges\n      wait: 200ms\n"
            "      sink:\n        function: " +
            schema_.name() + ".charge\n" + rest +
            "    - method: POST\n      path: /entries\n      wait: 200ms\n"
            "      sink:\n        table: " +
            table + "\n" + rest + "group: bank\nkafka: {bootstrap_servers: '127.0.0.1:1'}\n" +
            "postgres: {dsn: '" + schema_.server().worker_dsn + "', schema: " + schema_.name() +
            "}\n";
        for (const char* name : {"one", "two"}) {
            serving_.push_back(std::make_unique<Serving>(folder_, name, routes));
        }
    }
    ~ServeUnderKills() override {
        serving_.clear();
        if (HasFailure()) {
            std::cout << "the processes' logs are in " << folder_ << "\n";
            return;
        }
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    Client client(const std::string& name) {
        return {{serving_[0]->doors(), serving_[1]->doors()}, random_(), name, common_};
    }
    // While clients ask, each process is killed in turn: at any time, and at a step.
    SeenRequests kill_under_requests() {
        std::vector<Client> clients;
        for (const char* name : {"a", "b", "c", "d"}) clients.push_back(client(name));
        std::vector<std::jthread> threads;
        for (Client& each : clients) {
            threads.emplace_back([&each](const std::stop_token& stop) { each.run(stop); });
        }
        const char* kills = std::getenv("ONCEWARD_CRASH_KILLS");
        const int rounds = kills == nullptr ? static_cast<int>(steps.size()) : std::atoi(kills) / 2;
        const std::size_t first = random_() % steps.size();
        for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
            Serving& victim = *serving_[static_cast<std::size_t>(round) % serving_.size()];
            victim.kill_after(milliseconds(random_() % 200));
            if (HasFatalFailure()) break;
            const std::size_t step = (first + static_cast<std::size_t>(round)) % steps.size();
            victim.die_at(steps[step] + (":" + std::to_string(1 + random_() % 4)));
            victim.start();
        }
        for (std::jthread& thread : threads) thread.request_stop();
        threads.clear();
        SeenRequests seen;
        for (const Client& each : clients) seen.add(each.seen());
        return seen;
    }
    // What a process answers that has seen none of it.
    SeenRequests ask_again(const std::vector<SeenEffect>& effects) {
        Client late = client("late");
        const std::size_t stride = effects.size() / 100 + 1;
        for (std::size_t i = 0; i < effects.size(); i += stride) {
            late.ask(effects[i].key, effects[i].amount);
        }
        return late.seen();
    }
    std::vector<SeenEffect> effects() {
        std::vector<SeenEffect> found;
        for (const support::Row& row :
             schema_.database().execute("SELECT key, amount, id FROM effects ORDER BY id")) {
            found.push_back(
                {row[0].value(), std::stoll(row[1].value()), std::stoll(row[2].value())});
        }
        return found;
    }
    RowsByTransaction rows_of(const std::string& table) {
        RowsByTransaction rows;
        for (const support::Row& row : schema_.database().execute(
                 "SELECT xmin::text, count(*) FROM " + table + " GROUP BY xmin::text")) {
            rows[row[0].value()] = std::stoll(row[1].value());
        }
        return rows;
    }
    RequestEvidence evidence(SeenRequests requests) {
        const std::string generation =
            schema_.database().value("SELECT ledger || '_' || generation FROM generations");
        return {.requests = std::move(requests),
                .effects = effects(),
                .effects_of = rows_of("effects"),
                .claims_of = rows_of("claims_" + generation),
                .results_of = rows_of("results_" + generation)};
    }

    std::mt19937_64 random_{support::seed()};
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("onceward-serve");
    support::FreshSchema schema_;
    std::vector<std::unique_ptr<Serving>> serving_;
    std::atomic<int> common_ = 0;
};

TEST_F(ServeUnderKills, WhatIsAnsweredTookEffectOnceAndItsAnswerStays) {
    for (const auto& serving : serving_) {
        serving->start();
        ASSERT_FALSE(HasFatalFailure());
    }
    SeenRequests requests = kill_under_requests();
    ASSERT_FALSE(HasFatalFailure());
    for (const auto& serving : serving_) serving->stop();
    for (const auto& serving : serving_) serving->start();
    ASSERT_FALSE(HasFatalFailure());
    requests.add(ask_again(effects()));
    for (const auto& serving : serving_) serving->stop();

    const RequestEvidence seen = evidence(std::move(requests));
    EXPECT_THAT(judge_requests(seen), ::testing::IsEmpty());
    std::set<std::string> had_the_first, had_another;
    int conflicts = 0;
    for (const SeenAnswer& answer : seen.requests.answers) {
        if (answer.status < 300) (answer.replayed ? had_another : had_the_first).insert(answer.key);
        conflicts += answer.status == 422 ? 1 : 0;
    }
    std::erase_if(had_another, [&](const auto& key) { return had_the_first.contains(key); });
    std::cout << seen.requests.sent.size() << " keys, " << seen.requests.answers.size()
              << " answers, " << seen.effects.size() << " effects, " << conflicts
              << " conflicts, the first answer of " << had_another.size() << " keys was lost\n";
    EXPECT_EQ(seen.effects.size(), seen.requests.sent.size());
    EXPECT_FALSE(had_another.empty()) << "no answer was lost";
    EXPECT_GT(conflicts, 0);
    EXPECT_GT(serving_[0]->cuts() + serving_[1]->cuts(), 0U);
}

// A judge that finds nothing must be one that would.
TEST(JudgeOfRequests, NamesWhatDoesNotHold) {
    const auto story = [] {
        RequestEvidence good;
        good.requests.sent = {{"k", {1, 2}}, {"l", {1}}};
        good.requests.answers = {
            {.key = "k", .amount = 1, .status = 200, .body = "7", .effect = 7},
            {.key = "k", .amount = 1, .status = 200, .body = "7", .replayed = true, .effect = 7},
            {.key = "k", .amount = 2, .status = 422, .type = "/onceward/problems/key-reused"},
            {.key = "l", .amount = 1, .status = 409},
            {.key = "l", .amount = 1, .status = 204, .replayed = true}};
        good.effects = {{"k", 1, 7}, {"l", 1, 8}};
        good.effects_of = good.claims_of = good.results_of = {{"100", 1}, {"101", 1}};
        return good;
    };
    EXPECT_THAT(judge_requests(story()), ::testing::IsEmpty());
    using Change = void (*)(RequestEvidence&);
    const std::vector<std::pair<std::string, Change>> changes{
        {"k: 2 effects",
         [](auto& e) {
             e.effects.push_back({"k", 1, 9});
         }},
        {"l: was answered and has no effect", [](auto& e) { e.effects.pop_back(); }},
        {"m: nobody sent it",
         [](auto& e) {
             e.effects.push_back({"m", 1, 9});
         }},
        {"l: an effect of a body that nobody sent", [](auto& e) { e.effects[1].amount = 5; }},
        {"k: another body than the one that took effect got a success",
         [](auto& e) { e.requests.answers[1].amount = 2; }},
        {"k: its answers differ: 7 and 8", [](auto& e) { e.requests.answers[1].body = "8"; }},
        {"k: its answers differ: 7 and 7", [](auto& e) { e.requests.answers[1].status = 201; }},
        {"k: an answer names another effect", [](auto& e) { e.requests.answers[0].effect = 8; }},
        {"k: two answers say that they are the first",
         [](auto& e) { e.requests.answers[1].replayed = false; }},
        {"k: refused: ", [](auto& e) { e.requests.answers[2].type = "other"; }},
        {"k: a conflict with nothing", [](auto& e) { e.requests.sent["k"] = {1}; }},
        {"l: status 500", [](auto& e) { e.requests.answers[3].status = 500; }},
        {"l: undecided", [](auto& e) { e.requests.undecided = {"l"}; }},
        {"claims and effects are not of the same transactions",
         [](auto& e) { e.claims_of["100"] = 2; }},
        {"stored answers and effects are not of the same transactions",
         [](auto& e) { e.results_of.erase("101"); }}};
    for (const auto& [complaint, change] : changes) {
        RequestEvidence bad = story();
        change(bad);
        EXPECT_THAT(judge_requests(bad), ::testing::Contains(complaint));
    }
}

}  // namespace
}  // namespace onceward::faults
