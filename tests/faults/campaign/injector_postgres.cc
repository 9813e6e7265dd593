// The faults of the database server.
#include "tests/faults/campaign/injector.h"
#include "tests/faults/campaign/request_log.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward::campaign {

using namespace std::chrono_literals;
using support::Database;
using support::DatabaseError;

namespace {

// The sessions of workers, their guards and their retention.
constexpr const char* worker_sessions =
    " FROM pg_stat_activity WHERE application_name LIKE "
    "'onceward%' AND pid <> pg_backend_pid()";
constexpr int most_connections = 100;
constexpr std::uint32_t fence_looks = 24;

}  // namespace

void Injector::stop_postgres(const FaultPlan& fault) {
    PrivatePostgres& server = parts_.stage.postgres();
    if (!server.running()) {
        parts_.tally.nothing(fault.kind, "it is down already");
        return;
    }
    if (fault.kind == FaultKind::postgres_kill) {
        server.kill_now();
    } else {
        const auto begun = Clock::now();
        server.stop(PrivatePostgres::Stop::immediate);
        // PostgreSQL 15 once needed a minute for this, in seed 661 of 2026-11-27. No other fault
        // ends during that time, such as a black hole.
        if (Clock::now() > begun + Fleet::longest_restart) parts_.fleet.server_is_long_away();
    }
    const bool down = !server.running();
    go_on(fault, [this, fault, down] {
        parts_.stage.postgres().start();
        count(fault, down, "it did not stop");
    });
}

void Injector::lock_table(const FaultPlan& fault) {
    const Names& names = parts_.names;
    const std::size_t topics = names.topics.size();
    const std::size_t tables = topics + (names.doors.empty() ? 0 : 1);
    const std::size_t number = fault.target % tables;
    const std::string table = number < topics ? names.table(number) : names.request_table();
    hold_lock(fault, "LOCK TABLE " + table +
                         (fault.amount == 1 ? " IN SHARE MODE" : " IN ACCESS EXCLUSIVE MODE"));
}

void Injector::lock_fences(const FaultPlan& fault) {
    hold_lock(fault, "SELECT count(*) FROM (SELECT FROM " + parts_.names.schema +
                         ".fences ORDER BY topic, partition FOR UPDATE) AS held");
}

// Counted only where somebody came to wait for it.
void Injector::hold_lock(const FaultPlan& fault, const std::string& statement,
                         const std::function<void()>& released) {
    const std::shared_ptr<Database> holder = session();
    holder->execute("BEGIN");
    holder->execute(statement);
    const std::string waiters = "SELECT count(*) FROM pg_stat_activity WHERE " +
                                std::to_string(holder->pid()) + " = ANY(pg_blocking_pids(pid))";
    const std::shared_ptr<Database> observer = session();
    const auto waited = std::make_shared<bool>(false);
    go_on(
        fault,
        [this, fault, holder, waited, released] {
            count(fault, *waited, "nobody waited");
            if (released) released();
            holder->execute("ROLLBACK");
        },
        [observer, waiters, waited] {
            if (!*waited) *waited = observer->number(waiters) > 0;
        });
}

void Injector::terminate_backends(const FaultPlan& fault) {
    const std::int64_t ended = session()->number(
        "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM (SELECT pid" +
        std::string(worker_sessions) + " ORDER BY pid LIMIT " + std::to_string(fault.amount) +
        ") AS sessions");
    count(fault, ended > 0, "no session to end");
}

void Injector::make_read_only(const FaultPlan& fault) {
    const std::unique_ptr<Database> database = session();
    const bool sessions = database->number("SELECT count(*)" + std::string(worker_sessions)) > 0;
    database->execute("ALTER SYSTEM SET default_transaction_read_only = on");
    database->execute("SELECT pg_reload_conf()");
    go_on(fault, [this, fault, sessions] {
        const std::unique_ptr<Database> again = session();
        again->execute("ALTER SYSTEM RESET default_transaction_read_only");
        again->execute("SELECT pg_reload_conf()");
        count(fault, sessions, "no worker was there");
    });
}

void Injector::fill_connections(const FaultPlan& fault) {
    const std::string dsn =
        parts_.stage.postgres().dsn_for(support::worker_role, parts_.stage.canary());
    const auto held = std::make_shared<std::vector<std::unique_ptr<Database>>>();
    const auto fill = [dsn, held] {
        try {
            while (held->size() < most_connections)
                held->push_back(std::make_unique<Database>(dsn));
        } catch (const DatabaseError&) {
            return true;  // no more are let in
        }
        return false;
    };
    const bool full = fill();
    // Workers hold theirs: some of them are ended, and find their place taken.
    const std::int64_t ended = session()->number(
        "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM (SELECT pid" +
        std::string(worker_sessions) + " LIMIT 3) AS sessions");
    fill();
    go_on(fault, [this, fault, held, full, ended] {
        held->clear();
        count(fault, full && ended > 0, "no worker was shut out");
    });
}

void Injector::fail_over(const FaultPlan& fault) {
    if (!parts_.stage.postgres().running()) {
        parts_.tally.nothing(fault.kind, "the primary is down");
        return;
    }
    // A fence whose creation is lost leaves only Kafka's offset, with our mark: the partition
    // then stops and asks, as it must. Here they are all to continue.
    int partitions = 0;
    for (std::size_t topic = 0; topic < parts_.names.topics.size(); ++topic)
        partitions += parts_.feeder.partitions(topic);
    if (parts_.stage.standby_number("SELECT count(*) FROM " + parts_.names.schema + ".fences") <
        partitions) {
        if (fault.amount > fence_looks) {
            parts_.tally.nothing(fault.kind, "a partition has no fence yet");
            return;
        }
        FaultPlan later = fault;
        ++later.amount;
        later.lasts = milliseconds(250);
        go_on(later, [this, later, lasts = fault.lasts] {
            FaultPlan again = later;
            again.lasts = lasts;
            fail_over(again);
        });
        return;
    }
    parts_.stage.stop_streaming();
    go_on(fault, [this, fault] {
        parts_.before_fail_over();
        failed_over_ = true;
        // What committed before that is on the standby. The margin: commits are numbered in another
        // order than the one of their times.
        lost_.from_us = parts_.stage.standby_number(
            "SELECT (extract(epoch FROM coalesce(pg_last_xact_replay_timestamp(),"
            " to_timestamp(0))) * 1000000)::bigint - 200000");
        const std::int64_t lost = parts_.stage.fail_over();
        lost_.to_us = microseconds_now();
        parts_.tally.write("fail_over: " + std::to_string(lost) + " bytes of the log were lost");
        parts_.tally.count(fault.kind);
    });
}

}  // namespace onceward::campaign
