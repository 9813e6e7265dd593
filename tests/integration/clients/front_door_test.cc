// The three clients against `onceward serve`, with a real PostgreSQL. Those of Python and
// TypeScript run their own tests, of which the ones against a front door take it from
// ONCEWARD_FRONT_DOOR. In the end each order is in its table once: see expect_each_once().

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "clients/cpp/client.h"
#include "clients/cpp/keys.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Started once for all tests here.
class Door {
  public:
    Door() {
        fs::create_directories(folder_);
        cluster_.create_topic("events", 3);
        table_ = schema_.user_table("orders", "id text, amount numeric, kind text");
        // An order of this kind takes long enough to be met while it runs.
        schema_.database().execute(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_sleep(0.7); RETURN NEW; END'; "
            "CREATE TRIGGER slow BEFORE INSERT ON orders FOR EACH ROW "
            "WHEN (NEW.kind = 'slow') EXECUTE FUNCTION slow()");
        std::ofstream(folder_ / "onceward.yaml") << configuration();
        serve_.emplace(
            ChildOptions{.command = {ONCEWARD_EXECUTABLE, "serve", "-c", folder_ / "onceward.yaml"},
                         .environment = {},
                         .output = log(),
                         .folder = {},
                         .identity = {}});
        // A route's first request is answered once its session is there.
        if (!eventually(60s, [this] { return answers(); })) {
            throw std::runtime_error("serve does not answer: " + tail_of(log()));
        }
    }
    ~Door() {
        serve_.reset();
        fs::remove_all(folder_);
    }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_.number()); }
    std::uint16_t port() const { return port_.number(); }
    fs::path folder() const { return folder_; }
    // Orders of that client, and most rows that one of them has.
    std::pair<std::int64_t, std::int64_t> orders(const std::string& client) {
        const std::string counts = "(SELECT count(*) AS rows FROM orders WHERE id LIKE '" + client +
                                   "-%' GROUP BY id) AS counts";
        return {schema_.database().number("SELECT count(*) FROM " + counts),
                schema_.database().number("SELECT coalesce(max(rows), 0) FROM " + counts)};
    }

  private:
    fs::path log() const { return folder_ / "serve.log"; }
    bool answers() const {
        try {
            client::Options once{.retries = {.attempts = 1}};
            client::Client(url(), once).send({.target = "/nowhere"});
        } catch (const client::ConnectionFailed&) {
            return false;
        } catch (const client::ProblemError& error) {
            return error.answer().status == 404;
        }
        return false;
    }
    std::string configuration() {
        const std::string sink = "      sink:\n        table: " + table_ +
                                 "\n        columns: {id: {header: '{id}'}, amount: /amount, "
                                 "kind: /kind}\n";
        std::ostringstream text;
        text << "group: shop\nkafka: {bootstrap_servers: '" << cluster_.bootstrap_servers()
             << "'}\npostgres: {dsn: '" << schema_.worker().dsn.reveal()
             << "', schema: " << schema_.name() << "}\nhttp:\n  listen: 127.0.0.1:" << port()
             << "\n  routes:\n    - method: POST\n      path: /orders/{id}\n"
             << sink << "      ledger: {name: shop/orders}\n"
             << "    - method: POST\n      path: /limited/{id}\n      rate: {key: 0.25}\n"
             << sink << "      ledger: {name: shop/limited}\n"
             << "    - method: POST\n      path: /events\n      topic: events\n";
        return text.str();
    }

    fs::path folder_ = fs::temp_directory_path() / unique_name("door");
    FreshSchema schema_;
    MockCluster cluster_;
    ReservedPort port_;
    std::string table_;
    std::optional<ChildProcess> serve_;
};

class Clients : public testing::Test {
  protected:
    static void SetUpTestSuite() { door_ = std::make_unique<Door>(); }
    static void TearDownTestSuite() { door_.reset(); }

    // Also that there are some, so that tests which were skipped are noticed.
    static void expect_each_once(const std::string& client, std::int64_t at_least) {
        const auto [orders, most_rows] = door_->orders(client);
        EXPECT_GE(orders, at_least);
        EXPECT_EQ(most_rows, 1);
    }
    static void run_tests_of(const std::string& language) {
        EXPECT_NO_THROW(
            run_to_end({.command = {ONCEWARD_SOURCE_FOLDER "/clients/run-tests", language},
                        .environment = {"ONCEWARD_FRONT_DOOR=" + door_->url()},
                        .output = {},
                        .folder = {},
                        .identity = {}},
                       5min));
        expect_each_once(language, 6);
    }
    static client::Request order(const std::string& body = R"({"amount":1})") {
        return {
            .target = "/orders/cpp-" + client::mint_key(), .body = body, .key = client::mint_key()};
    }

    static inline std::unique_ptr<Door> door_;
};

TEST_F(Clients, OfCppGetTheSameAnswerAgain) {
    client::Client client(door_->url());
    const client::Request request = order();
    const client::Answer first = client.send(request);
    EXPECT_EQ(first.status, 204);
    EXPECT_FALSE(first.replayed);
    EXPECT_EQ(client::header_of(first.headers, "Idempotency-Key"), '"' + first.key + '"');
    const client::Answer again = client.send(request);
    EXPECT_EQ(again.status, 204);
    EXPECT_TRUE(again.replayed);
    client::Request other = request;
    other.body = R"({"amount":2})";
    EXPECT_THROW(client.send(other), client::KeyReused);
    EXPECT_EQ(client.send({.target = "/events", .body = "{}"}).status, 202);
    expect_each_once("cpp", 1);
}

TEST_F(Clients, OfCppMayCorrectWhatWasRejected) {
    client::Client client(door_->url());
    client::Request request = order(R"({"amount":"much"})");
    EXPECT_THROW(client.send(request), client::Rejected);
    request.body = R"({"amount":1})";
    EXPECT_EQ(client.send(request).status, 204);
}

TEST_F(Clients, OfCppGetALostAnswerAfterARestart) {
    client::FileStore store(door_->folder() / "keys");
    CuttingProxy proxy(CuttingProxy::Protocol::bytes, door_->port());
    const std::string url = "http://127.0.0.1:" + std::to_string(proxy.port());
    const client::Options options{.retries = {.attempts = 1}, .store = &store};
    // The second breaks off in a header after the line with the status.
    for (const std::uint64_t bytes : {1, 30}) {
        client::Request request = order();
        request.key.reset();
        request.operation = "order-7";
        proxy.cut_at(CuttingProxy::Direction::to_client, bytes);
        EXPECT_THROW(client::Client(url, options).send(request), client::ConnectionFailed);
        proxy.cut_nowhere();
        EXPECT_EQ(store.entries().size(), 1U);
        const client::Answer answer = client::Client(url, options).send(request);
        EXPECT_EQ(answer.status, 204);
        EXPECT_TRUE(answer.replayed);
        EXPECT_TRUE(store.entries().empty());
    }
    expect_each_once("cpp", 1);
}

TEST_F(Clients, OfCppWaitWhileTheFirstRuns) {
    const client::Request request = order(R"({"amount":1,"kind":"slow"})");
    std::vector<client::Answer> answers(2);
    std::vector<std::thread> threads;
    for (client::Answer& answer : answers) {
        threads.emplace_back([&] { answer = client::Client(door_->url()).send(request); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_NE(answers[0].replayed, answers[1].replayed);
    EXPECT_GE(std::max(answers[0].attempts, answers[1].attempts), 2);
    expect_each_once("cpp", 1);
}

TEST_F(Clients, OfPythonPassTheirTests) { run_tests_of("python"); }

TEST_F(Clients, OfTypeScriptPassTheirTests) { run_tests_of("typescript"); }

}  // namespace
}  // namespace onceward::support
