// A slow target and a fast one: the slow one's clients hold as many connections as they may, and
// the others continue. ONCEWARD_SLOW_CLIENTS=1500 runs the full load with a full pool of
// connections; the default is a smaller load with a smaller pool.

#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using Milliseconds = std::chrono::duration<double, std::milli>;

int asked_for(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::stoi(text);
}

class SlowTarget : public testing::Test {
  protected:
    SlowTarget()
        : table_(schema_.user_table("orders", "id text")),
          upstream_([this](const RecordedCall&, int) { return slowly(); }) {
        const std::string text =
            "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
            schema_.worker().dsn.reveal() + "', schema: " + schema_.name() +
            "}\nhttp:\n  listen: 127.0.0.1:0\n  limits: {connections: " +
            std::to_string(clients_ * 2 / 3) +
            "}\n  routes:\n    - method: POST\n      path: /fast/{id}\n      sink: {table: " +
            table_ +
            ", columns: {id: {header: '{id}'}}}\n      ledger: {name: orders}\n"
            "    - method: POST\n      path: /slow\n      upstream: {url: 'http://127.0.0.1:" +
            std::to_string(upstream_.port()) +
            "', allow_private: [127.0.0.1], concurrency: 24}\n"
            "      ledger: {name: charges, store: lease}\n";
        const LoadResult loaded = load_configuration_text(text, "slow.yaml");
        for (const Finding& finding : loaded.findings) ADD_FAILURE() << finding.message;
        gateway_ = std::make_unique<GatewayRun>(loaded.configuration);
    }
    ~SlowTarget() override {
        end();
        for (std::thread& client : threads_) client.join();
        gateway_.reset();
    }
    RecordedAnswer slowly() {
        std::unique_lock lock(mutex_);
        ended_.wait_for(lock, 1500ms, [&] { return over_; });
        return {.status = 201, .body = "made"};
    }
    void end() {
        const std::lock_guard lock(mutex_);
        over_ = true;
        ended_.notify_all();
    }
    bool pause(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex_);
        return !ended_.wait_for(lock, time, [&] { return over_; });
    }
    static RawResponse post(RawClient& client, const std::string& path) {
        return client.ask("POST", path, "Idempotency-Key: " + unique_name("k") + "\r\n", "{}")
            .value();
    }
    // Asks again with another key after each answer, and where it was refused after a second.
    void ask_for_ever() {
        std::unique_ptr<RawClient> client;
        std::chrono::milliseconds rest = 0ms;
        while (pause(rest)) {
            rest = 1s;
            try {
                if (!client) client = std::make_unique<RawClient>(gateway_->port());
                const RawResponse response = post(*client, "/slow");
                if (response.status != 503) rest = 0ms;
                if (response.status == 503) ++refused_;
                const auto connection = response.headers.find("connection");
                if (connection != response.headers.end() && connection->second == "close") {
                    client.reset();
                }
            } catch (const std::exception&) {
                client.reset();  // closed while it was idle, or nothing came
            }
        }
    }
    void begin_slow_clients() {
        for (int i = 0; i < clients_; ++i) threads_.emplace_back([this] { ask_for_ever(); });
    }
    // Sends the requests one after the other, each on its own connection or all on one.
    Milliseconds p99(int requests, bool fresh_connections) {
        std::vector<Milliseconds> took;
        auto client = std::make_unique<RawClient>(gateway_->port());
        for (int i = 0; i < requests; ++i) {
            const auto begun = std::chrono::steady_clock::now();
            if (fresh_connections) client = std::make_unique<RawClient>(gateway_->port());
            const RawResponse response = post(*client, "/fast/7");
            EXPECT_EQ(response.status, 204);
            took.emplace_back(std::chrono::steady_clock::now() - begun);
            if (response.headers.contains("connection") && !fresh_connections) {
                client = std::make_unique<RawClient>(gateway_->port());
            }
        }
        std::ranges::sort(took);
        std::cout << requests << " requests, " << (fresh_connections ? "a" : "no")
                  << " new connection for each: p50 " << took[took.size() / 2].count()
                  << " ms, p99 " << took[took.size() * 99 / 100].count() << " ms, longest "
                  << took.back().count() << " ms\n";
        return took[took.size() * 99 / 100];
    }
    ProcessStatus status() {
        ProcessStatus status;
        gateway_->complete(status);
        return status;
    }

    const int clients_ = asked_for("ONCEWARD_SLOW_CLIENTS", 90);
    const int requests_ = asked_for("ONCEWARD_FAST_REQUESTS", 300);
    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::atomic<int> refused_{0};
    FreshSchema schema_;
    std::string table_;
    RecordingServer upstream_;
    std::unique_ptr<GatewayRun> gateway_;
    std::vector<std::thread> threads_;
};

TEST_F(SlowTarget, ItsClientsTakeNoConnectionFromOtherRoutesAndAreRefusedAtOnce) {
    p99(50, true);
    const Milliseconds alone = p99(requests_, true), alone_kept = p99(requests_, false);
    begin_slow_clients();
    ASSERT_TRUE(eventually(60s, [&] { return refused_ > 0; })) << "no bound was met";
    const Milliseconds beside = p99(requests_, true), beside_kept = p99(requests_, false);
    const ProcessStatus seen = status();
    std::cout << clients_ << " slow clients: " << seen.routes[1].under_way << " under way, "
              << seen.upstream_calls.begin()->second << " calls, " << seen.routes[1].full
              << " refused, " << seen.server->open << " connections, full "
              << seen.server->full << " times, " << seen.server->closed_idle << " idle ones and "
              << seen.server->closed_slow << " slow ones closed\n";
    EXPECT_GT(seen.routes[1].under_way, 0);
    EXPECT_LE(seen.routes[1].under_way, clients_ * 2 / 3 * 4 / 5 + 1);
    EXPECT_GT(seen.routes[1].full, 0);
    EXPECT_LE(seen.upstream_calls.begin()->second, 24);
    EXPECT_TRUE(eventually(60s, [&] { return status().upstream_calls.begin()->second == 24; }))
        << "all that may call at once do";
    EXPECT_EQ(seen.routes[0].full, 0);
    // On a busy machine the first measure may be of a quiet moment. A starved route waits for
    // seconds.
    const Milliseconds least(20);
    EXPECT_LE(beside, 10 * std::max(alone, least));
    EXPECT_LE(beside_kept, 10 * std::max(alone_kept, least));
}

}  // namespace
}  // namespace onceward::support
