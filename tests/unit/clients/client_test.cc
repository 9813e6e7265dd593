// What a client does with each answer, and what its store keeps: on a transport that says what it
// is told to say.

#include "clients/cpp/client.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "clients/cpp/keys.h"
#include "tests/support/unique.h"

namespace onceward::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

using Outcome = std::variant<Response, NoResponse>;

Outcome problem(int status, const std::string& name, const std::string& retry_after = "") {
    Response response{.status = status,
                      .headers = {{"content-type", "application/problem+json; charset=utf-8"}},
                      .body = R"({"type":"/onceward/problems/)" + name +
                              R"(","title":"Title","status":)" + std::to_string(status) +
                              R"(,"detail":"Detail.","more":7})"};
    if (!retry_after.empty()) response.headers.emplace_back("Retry-After", retry_after);
    return response;
}
Outcome plain(int status) { return Response{.status = status, .headers = {}, .body = {}}; }

const Outcome cut = NoResponse{"cut", true};
const Outcome nobody = NoResponse{"nobody there", false};
const Outcome replayed =
    Response{.status = 201, .headers = {{"idempotent-replayed", "true"}}, .body = "{}"};

// The answers in their order; the last one for all further requests.
class ScriptedTransport final : public Transport {
  public:
    struct Script {
        std::vector<Outcome> outcomes;
        std::vector<Sending> seen{};
    };
    explicit ScriptedTransport(Script& script) : script_(script) {}
    std::variant<Response, NoResponse> send(const Sending& request) override {
        script_.seen.push_back(request);
        const std::size_t at = std::min(script_.seen.size(), script_.outcomes.size()) - 1;
        return script_.outcomes[at];
    }

  private:
    Script& script_;
};

class ClientTest : public testing::Test {
  protected:
    ClientTest() {
        options_.retries = {
            .attempts = 4, .in_flight_waits = 3, .backoff = 2ms, .backoff_max = 10ms};
        options_.warn = [this](const std::string& text) { warnings_.push_back(text); };
    }
    ~ClientTest() override { std::filesystem::remove_all(folder_); }

    // As a process that has just begun would.
    Answer ask(Request request = {.target = "/orders/7?a=b", .body = "{}"}) {
        return Client("http://shop.example", options_, std::make_unique<ScriptedTransport>(script_))
            .send(request);
    }
    Answer ask_for(const std::string& operation, const std::string& body = "{}") {
        return ask({.target = "/orders", .body = body, .operation = operation});
    }
    template <class Error, class Call>
    std::optional<Error> thrown(Call call) {
        try {
            call();
        } catch (const Error& error) {
            return error;
        }
        ADD_FAILURE() << "no error of that kind";
        return std::nullopt;
    }
    std::vector<std::string> keys() {
        std::vector<std::string> all;
        for (const Sending& sent : script_.seen) {
            all.push_back(header_of(sent.headers, "Idempotency-Key"));
        }
        return all;
    }
    std::size_t different_keys() {
        const std::vector<std::string> all = keys();
        return std::set<std::string>(all.begin(), all.end()).size();
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("keys");
    FileStore store_{folder_};
    Options options_;
    std::vector<std::string> warnings_;
    ScriptedTransport::Script script_;
};

TEST_F(ClientTest, ATargetThatIsNoPathIsRefused) {
    script_.outcomes = {replayed};
    for (const std::string target : {"//other.example/x", "http://other.example/x", "orders", ""}) {
        EXPECT_THROW(ask({.target = target}), std::invalid_argument) << target;
    }
    EXPECT_THAT(script_.seen, IsEmpty());
}

TEST_F(ClientTest, KeepsItsKeyOverRetries) {
    for (const Outcome& first : {problem(409, "key-in-flight", "0"), problem(503, "unavailable"),
                                 cut, nobody, plain(500), plain(408), plain(425), plain(429)}) {
        script_ = {.outcomes = {first, first, replayed}};
        const Answer answer = ask();
        EXPECT_EQ(answer.status, 201);
        EXPECT_TRUE(answer.replayed);
        EXPECT_EQ(answer.attempts, 3);
        EXPECT_EQ(different_keys(), 1U);
        EXPECT_EQ(keys()[0], '"' + answer.key + '"');
        EXPECT_EQ(script_.seen[2].url, "http://shop.example/orders/7?a=b");
    }
    EXPECT_THAT(keys()[0], MatchesRegex("\"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                        "[0-9a-f]{12}\""));
    ask();
    EXPECT_EQ(different_keys(), 2U) << "another operation is another key";
}

TEST_F(ClientTest, ThrowsARefusalAtOnce) {
    script_ = {.outcomes = {problem(422, "key-reused")}};
    const auto reused = thrown<KeyReused>([&] { ask(); });
    ASSERT_TRUE(reused);
    EXPECT_TRUE(reused->settled());
    EXPECT_EQ(reused->attempts(), 1);
    EXPECT_STREQ(reused->what(), "422: key-reused: Title: Detail.");
    EXPECT_THAT(reused->problem().value().document, HasSubstr(R"("more":7)"));
    EXPECT_THAT(script_.seen, SizeIs(1));
    script_ = {.outcomes = {problem(422, "rejected")}};
    EXPECT_THROW(ask(), Rejected);
    script_ = {.outcomes = {problem(400, "key-malformed")}};
    EXPECT_THROW(ask(), KeyRefused);
    script_ = {.outcomes = {problem(410, "answer-gone")}};
    EXPECT_THROW(ask(), AnswerGone);
    script_ = {.outcomes = {plain(403)}};
    EXPECT_THROW(ask(), NotAuthorized);
    // Another's: nobody says that it is in flight.
    script_ = {.outcomes = {plain(409)}};
    EXPECT_FALSE(thrown<ProblemError>([&] { ask(); })->settled());
    EXPECT_THAT(script_.seen, SizeIs(1));
    script_ = {.outcomes = {Response{
                   .status = 500, .headers = {{"Idempotent-Replayed", "true"}}, .body = {}}}};
    EXPECT_TRUE(thrown<ServerFailed>([&] { ask(); })->settled());
    EXPECT_THAT(script_.seen, SizeIs(1));
}

TEST_F(ClientTest, EndsItsTriesAndSaysThatTheOutcomeIsOpen) {
    script_ = {.outcomes = {problem(409, "key-in-flight", "0")}};
    EXPECT_EQ(thrown<KeyInFlight>([&] { ask(); })->attempts(), 4);
    script_ = {.outcomes = {problem(503, "unavailable")}};
    EXPECT_EQ(thrown<ServerFailed>([&] { ask(); })->attempts(), 4);
    script_ = {.outcomes = {plain(429)}};
    EXPECT_EQ(thrown<TooManyRequests>([&] { ask(); })->attempts(), 4);
    script_ = {.outcomes = {problem(429, "too-many-requests", "3600")}};
    EXPECT_EQ(thrown<TooManyRequests>([&] { ask(); })->attempts(), 1) << "too long to wait for";
    script_ = {.outcomes = {cut}};
    const auto error = thrown<ConnectionFailed>([&] { ask(); });
    EXPECT_EQ(error->attempts(), 4);
    EXPECT_FALSE(error->settled());
    EXPECT_EQ(keys()[3], '"' + error->key() + '"');
}

TEST_F(ClientTest, TakesARefusalForNoAnswerToAnAttemptInDoubt) {
    script_ = {.outcomes = {cut, plain(401)}};
    EXPECT_FALSE(thrown<NotAuthorized>([&] { ask(); })->settled());
    script_ = {.outcomes = {nobody, plain(401)}};
    EXPECT_TRUE(thrown<NotAuthorized>([&] { ask(); })->settled());
}

TEST_F(ClientTest, StopsWaitingWhenItIsTold) {
    script_ = {.outcomes = {problem(409, "key-in-flight", "30")}};
    Client client("http://shop.example", options_, std::make_unique<ScriptedTransport>(script_));
    std::stop_source stop;
    std::jthread stopper([&] { stop.request_stop(); });
    EXPECT_THROW(client.send({.target = "/"}, stop.get_token()), Stopped);
}

TEST_F(ClientTest, SendsTheCallersKeyAndWarnsOfAWeakOne) {
    script_ = {.outcomes = {plain(204)}};
    options_.bare_keys = true;
    ask({.target = "/", .key = "f3b1c9d0a7e84562-1"});
    EXPECT_THAT(keys(), ElementsAre("f3b1c9d0a7e84562-1"));
    EXPECT_THAT(warnings_, IsEmpty());
    ask({.target = "/", .key = "17"});
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("weak idempotency key: it is a number")));
    EXPECT_THROW(ask({.target = "/", .key = "a, b"}), std::invalid_argument);
    EXPECT_THROW(ask({.target = "/", .headers = {{"a", "b\r\nc: d"}}}), std::invalid_argument);
    EXPECT_THROW(ask({.target = "/", .headers = {{"idempotency-key", "a"}}}),
                 std::invalid_argument);
    EXPECT_THROW(ask_for("order-7"), std::invalid_argument) << "there is no store";
    EXPECT_THAT(script_.seen, SizeIs(2));
}

TEST_F(ClientTest, KeepsAKeyOverARestartUntilTheOutcomeIsKnown) {
    options_.store = &store_;
    options_.retries.attempts = 1;
    script_ = {.outcomes = {cut, problem(503, "unavailable"), plain(401), replayed}};
    EXPECT_THROW(ask_for("order-7"), ConnectionFailed);
    EXPECT_THROW(ask_for("order-7"), ServerFailed);
    EXPECT_FALSE(thrown<NotAuthorized>([&] { ask_for("order-7"); })->settled());
    ASSERT_THAT(store_.entries(), SizeIs(1));
    EXPECT_EQ('"' + store_.entries()[0].key + '"', keys()[0]);
    EXPECT_TRUE(ask_for("order-7").replayed);
    EXPECT_EQ(different_keys(), 1U);
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    ask_for("order-7");
    EXPECT_EQ(different_keys(), 2U) << "an ended operation starts again";
}

TEST_F(ClientTest, LetsARejectedOperationBeCorrected) {
    options_.store = &store_;
    script_ = {.outcomes = {problem(422, "rejected"), plain(204)}};
    EXPECT_THROW(ask_for("order-7", "1"), Rejected);
    ask_for("order-7", "2");
    EXPECT_EQ(different_keys(), 2U);
}

TEST_F(ClientTest, SendsNothingWhereAStoredKeyDoesNotFitOrIsTooOld) {
    options_.store = &store_;
    script_ = {.outcomes = {cut}};
    EXPECT_THROW(ask_for("order-7"), ConnectionFailed);
    script_.seen.clear();
    EXPECT_THROW(ask_for("order-7", "another"), OperationChanged);
    options_.retention = 0s;
    EXPECT_THROW(ask_for("order-7"), OperationExpired);
    const auto file = std::filesystem::directory_iterator(folder_)->path();
    std::ofstream(file) << "{";
    EXPECT_THROW(ask_for("order-7"), StoreFailed);
    EXPECT_THAT(script_.seen, IsEmpty());
}

TEST_F(ClientTest, OfManyWhoBeginAnOperationOneWins) {
    std::vector<std::string> found(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
        threads.emplace_back([&, i] {
            found[i] = FileStore(folder_)
                           .claim({.operation = "order-7",
                                   .key = "key-" + std::to_string(i),
                                   .fingerprint = "f",
                                   .created_at = 1s})
                           .key;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(std::set<std::string>(found.begin(), found.end()), SizeIs(1));
    store_.forget("order-7", "another key");
    store_.forget("order-8", found[0]);
    EXPECT_THAT(store_.entries(), SizeIs(1));
    EXPECT_EQ(store_.entries()[0].created_at, 1s);
}

// As the other clients' stores write it, so that one may follow another.
TEST_F(ClientTest, ReadsWhatAnotherLanguagesClientHasStored) {
    std::ofstream(folder_ / (sha256("order-7") + ".json"))
        << R"({"operation": "order-7", "key": "k", "fingerprint": ")"
        << fingerprint_of("POST", "/orders", "{}") << R"(", "created_at": )"
        << std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
               .count()
        << "}";
    options_.store = &store_;
    script_ = {.outcomes = {replayed}};
    EXPECT_EQ(ask_for("order-7").key, "k");
}

// As a front door that calls another one may send them.
TEST_F(ClientTest, ReadsAHeaderThatComesTwice) {
    Response twice{.status = 201,
                   .headers = {{"Idempotent-Replayed", "true"}, {"idempotent-replayed", "True"}},
                   .body = "{}"};
    script_.outcomes = {twice};
    EXPECT_TRUE(ask().replayed);
    twice.headers[1].second = "false";
    script_ = {.outcomes = {twice}};
    EXPECT_FALSE(ask().replayed);
    const Response busy{
        .status = 503, .headers = {{"Retry-After", "0"}, {"Retry-After", "61"}}, .body = {}};
    script_ = {.outcomes = {busy, replayed}};
    EXPECT_THROW(ask(), ServerFailed) << "the longer pause is above the longest";
    EXPECT_THAT(script_.seen, SizeIs(1));
}

TEST_F(ClientTest, WhateverTheDiskRefusesIsAFailureOfTheStore) {
    options_.store = &store_;
    script_.outcomes = {plain(200)};
    std::filesystem::remove_all(folder_);
    EXPECT_THROW(ask_for("order-7"), StoreFailed);
    EXPECT_THROW(store_.entries(), StoreFailed);
    EXPECT_THAT(script_.seen, IsEmpty());
    std::ofstream(folder_) << "no folder";
    EXPECT_THROW(store_.entries(), StoreFailed);
    EXPECT_THROW(FileStore(folder_ / "below"), StoreFailed);
}

// Nothing could be sent again: the operation has ended.
TEST_F(ClientTest, AnAnswerIsWorthMoreThanAStoreThatDoesNotForget) {
    struct Unforgetting final : Store {
        Entry claim(const Entry& entry) override { return entry; }
        void forget(const std::string&, const std::string&) override {
            throw StoreFailed("the disk is gone");
        }
        std::vector<Entry> entries() override { return {}; }
    } store;
    options_.store = &store;
    script_.outcomes = {plain(201)};
    EXPECT_EQ(ask_for("order-7").status, 201);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("the disk is gone")));
}

}  // namespace
}  // namespace onceward::client
