#include "tests/faults/campaign/stage.h"

#include <stdexcept>

#include "tests/faults/campaign/false_clock.h"
#include "tests/support/database.h"
#include "tests/support/eventually.h"
#include "tests/support/memory_folder.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::campaign {
namespace {

using namespace std::chrono_literals;
using Protocol = support::CuttingProxy::Protocol;

// The proxy in front must know the port before the broker starts.
support::KafkaBrokerOptions broker_options(int brokers, std::uint16_t port,
                                           std::uint16_t advertised) {
    support::KafkaBrokerOptions options;
    options.port = port;
    options.advertised_port = advertised;
    options.direct = true;
    // What the members of the new group protocol cannot choose themselves.
    options.properties = {"group.consumer.session.timeout.ms=1000",
                          "group.consumer.min.session.timeout.ms=500",
                          "group.consumer.heartbeat.interval.ms=150",
                          // A broker that was killed is let in again when its last session is over.
                          "broker.session.timeout.ms=4000", "broker.heartbeat.interval.ms=500"};
    if (brokers == 1) return options;
    const std::string copies = std::to_string(brokers);
    for (const std::string& line :
         {"offsets.topic.replication.factor=" + copies,
          "transaction.state.log.replication.factor=" + copies,
          // A broker that returns becomes leader again at once.
          std::string("leader.imbalance.check.interval.seconds=1"),
          std::string("leader.imbalance.per.broker.percentage=0"),
          std::string("replica.lag.time.max.ms=2000")})
        options.properties.push_back(line);
    return options;
}

PrivatePostgresOptions server_options() {
    PrivatePostgresOptions options;
    options.parent = support::memory_folder();
    options.settings = {
        {"max_connections", "70"},
        {"deadlock_timeout", "200ms"},
        {"max_wal_size", "256MB"},
        // After a crash a server syncs each of its files; this asks for all at once.
        {"recovery_init_sync_method", "syncfs"},
        {"wal_receiver_status_interval", "1s"}};
    return options;
}

// With its owner and its rights.
void copy_files(const std::filesystem::path& from, const std::filesystem::path& to) {
    ChildOptions options;
    options.command = {"cp", "-a", from.string(), to.string()};
    run_to_end(std::move(options), 60s);
}

}  // namespace

Stage::Stage(int brokers)
    : kafka_proxy_(Protocol::kafka, broker_port_.number()),
      postgres_proxy_(Protocol::postgres),
      direct_proxy_(Protocol::bytes),
      broker_(broker_options(brokers, broker_port_.number(), kafka_proxy_.port())),
      kafka_(broker_.direct_bootstrap_servers()),
      canary_(support::unique_name("canary-secret")),
      postgres_(std::make_unique<PrivatePostgres>(server_options())) {
    for (int number = 2; number <= brokers; ++number) {
        support::KafkaBrokerOptions options = broker_options(brokers, 0, 0);
        options.node = number;
        options.cluster = broker_.cluster();
        options.controller_port = broker_.controller_port();
        others_.push_back(std::make_unique<support::KafkaBroker>(options));
    }
    kafka_.set_copies(brokers);
    postgres_proxy_.set_target(postgres_->port());
    direct_proxy_.set_target(postgres_->port());
    support::create_worker_role(postgres_->dsn());
    support::Database(postgres_->dsn())
        .execute(std::string("ALTER ROLE ") + support::worker_role + " PASSWORD '" + canary_ + "'");
}

Addresses Stage::addresses() const {
    return {"127.0.0.1:" + std::to_string(kafka_proxy_.port()),
            postgres_->dsn_for(support::worker_role, canary_) +
                " port=" + std::to_string(postgres_proxy_.port())};
}

std::string Stage::direct_dsn() const {
    return postgres_->dsn() + " port=" + std::to_string(direct_proxy_.port());
}

void Stage::start_standby() {
    PrivatePostgres::StandbyOptions options;
    options.settings = server_options().settings;
    standby_ = std::make_unique<PrivatePostgres>(PrivatePostgres::standby_of(*postgres_, options));
}

std::int64_t Stage::standby_number(const std::string& sql) const {
    return support::Database(standby_->dsn()).number(sql);
}

void Stage::stop_streaming() {
    support::Database replica(standby_->dsn());
    replica.execute("ALTER SYSTEM SET primary_conninfo = ''");
    replica.execute("SELECT pg_reload_conf()");
    if (!support::eventually(
            10s, [&] { return replica.number("SELECT count(*) FROM pg_stat_wal_receiver") == 0; }))
        throw std::runtime_error("the standby does not stop streaming");
}

std::int64_t Stage::fail_over() {
    const std::string reached =
        support::Database(postgres_->dsn()).value("SELECT pg_current_wal_lsn()");
    const std::int64_t lost =
        support::Database(standby_->dsn())
            .number("SELECT pg_wal_lsn_diff('" + reached + "', pg_last_wal_receive_lsn())::bigint");
    postgres_->kill_now();
    standby_->promote();
    postgres_ = std::move(standby_);
    for (support::CuttingProxy* proxy : {&postgres_proxy_, &direct_proxy_}) {
        proxy->set_target(postgres_->port());
        proxy->cut_all();
    }
    return lost;
}

void Stage::use_false_clock() {
    std::filesystem::remove(clock());
    postgres_->set_environment(false_clock(clock()));
    postgres_->restart();
}

void Stage::use_true_clock() {
    postgres_->set_environment({});
    postgres_->restart();
}

void Stage::take_copy() {
    postgres_->stop(PrivatePostgres::Stop::fast);
    drop_copy();
    copy_files(data(), copy());
    postgres_->start();
}

void Stage::restore_copy() {
    postgres_->kill_now();
    std::filesystem::remove_all(data());
    std::filesystem::rename(copy(), data());
    postgres_->start();
}

void Stage::heal() {
    for (support::CuttingProxy* proxy : {&postgres_proxy_, &kafka_proxy_}) {
        proxy->on_commit({});
        proxy->on_answer({});
        proxy->cut_nowhere();
        proxy->delay(0ms);
        proxy->limit(0);
        proxy->black_hole(false);
        proxy->refuse(false);
    }
    // What is still waiting in a hole takes no other way.
    postgres_proxy_.cut_all();
    kafka_proxy_.cut_all();
    broker_.thaw();
    broker_.start();
    for (const auto& other : others_) other->start();
    postgres_->start();
    drop_copy();
    support::Database database(postgres_->dsn() +
                               " options='-c default_transaction_read_only=off'");
    database.execute("ALTER SYSTEM RESET default_transaction_read_only");
    database.execute("SELECT pg_reload_conf()");
}

}  // namespace onceward::campaign
