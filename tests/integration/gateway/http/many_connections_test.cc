// Ten thousand connections at once, each with a request under the same key, against `onceward
// serve` as a process of its own.

#include <sys/resource.h>

#include "lab/embedded/reserved_port.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/eventually.h"
#include "tests/support/one_waits.h"

namespace onceward::operator_tests {
namespace {

using support::eventually;
using support::RawClient;
using support::RawResponse;

// Ten thousand, or as many as this machine lets a process have open: what it starts inherits that.
std::size_t as_many_as_allowed() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error("setrlimit");
    const rlim_t many = std::min<rlim_t>(10'000, limit.rlim_max - 500);
    if (many < 10'000) std::cout << "this machine allows " << many << " connections only\n";
    return many;
}

class ManyConnections : public testing::Test {
  protected:
    ManyConnections()
        : table_(schema_.user_table("orders", "id text")),
          file_(std::filesystem::path(testing::TempDir()) / support::unique_name("many")) {
        const std::string sink = "      sink: {table: " + table_ +
                                 ", columns: {id: {header: '{id}'}}}\n"
                                 "      ledger: {name: orders}\n";
        std::ofstream(file_) << "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\n"
                                "postgres: {dsn: '"
                             << schema_.worker().dsn.reveal() << "', schema: " << schema_.name()
                             << "}\nadmin: {listen: 'off'}\nhttp:\n  listen: 127.0.0.1:"
                             << port_.number()
                             << "\n  limits: {connections: 13000, idle_time: 10m}\n  routes:\n"
                                "    - method: POST\n      path: /orders/{id}\n"
                             << sink
                             << "    - method: POST\n      path: /patient/{id}\n      wait: 30s\n"
                             << sink;
    }
    ~ManyConnections() override { std::filesystem::remove(file_); }
    ChildProcess serve() const {
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "serve", "-c", file_.string()};
        return ChildProcess(options);
    }
    // The first request's transaction waits for the table until the blocker lets go.
    void begin(const std::string& path, RawClient& first, Database& blocker) {
        blocker.execute("BEGIN; LOCK TABLE " + table_);
        first.send(request(path));
        EXPECT_TRUE(support::one_waits_for(schema_.database(), blocker.pid()));
    }
    static std::string request(const std::string& path) {
        return "POST " + path +
               " HTTP/1.1\r\nHost: a\r\nIdempotency-Key: hot\r\nContent-Length: 2\r\n\r\n{}";
    }
    std::int64_t rows(const std::string& id) {
        return schema_.database().number("SELECT count(*) FROM " + table_ + " WHERE id = '" + id +
                                         "'");
    }

    FreshSchema schema_;
    std::string table_;
    ReservedPort port_;
    std::filesystem::path file_;
};

TEST_F(ManyConnections,
       OneKeyInTenThousandRequestsIsOneEffectTheAnswerForWhoWaitsAndA409ForOthers) {
    const std::size_t many = as_many_as_allowed();
    ChildProcess process = serve();
    ASSERT_TRUE(eventually(std::chrono::seconds(30),
                           [&] { return support::accepts_connections(port_.number()); }));
    std::vector<std::unique_ptr<RawClient>> clients;
    while (clients.size() < many) clients.push_back(std::make_unique<RawClient>(port_.number()));
    Database blocker(schema_.server().dsn);

    begin("/orders/7", *clients.front(), blocker);
    for (std::size_t i = 1; i < many; ++i) clients[i]->send(request("/orders/7"));
    std::size_t refused = 0;
    for (std::size_t i = 1; i < many; ++i) {
        const RawResponse response = clients[i]->receive().value();
        if (response.status == 409 && response.headers.contains("retry-after")) ++refused;
    }
    EXPECT_EQ(refused, many - 1);
    blocker.execute("ROLLBACK");
    EXPECT_EQ(clients.front()->receive().value().status, 204);
    EXPECT_EQ(rows("7"), 1);

    begin("/patient/8", *clients.front(), blocker);
    for (std::size_t i = 1; i < many; ++i) clients[i]->send(request("/patient/8"));
    EXPECT_FALSE(clients[many / 2]->readable(300)) << "it was to wait";
    blocker.execute("ROLLBACK");
    const RawResponse first = clients.front()->receive().value();
    EXPECT_EQ(first.status, 204);
    EXPECT_FALSE(first.headers.contains("idempotent-replayed"));
    std::size_t replayed = 0;
    for (std::size_t i = 1; i < many; ++i) {
        const RawResponse response = clients[i]->receive().value();
        if (response.status == 204 && response.headers.contains("idempotent-replayed")) ++replayed;
    }
    EXPECT_EQ(replayed, many - 1);
    EXPECT_EQ(rows("8"), 1);
    process.send(SIGTERM);
    const auto status = process.wait(std::chrono::seconds(60));
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
}

}  // namespace
}  // namespace onceward::operator_tests
