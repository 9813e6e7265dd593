#include "tests/faults/campaign/core/core_seed.h"

#include <algorithm>
#include <fstream>
#include <list>
#include <numeric>
#include <sstream>

#include "dedup/retention/conversion.h"
#include "dedup/retention/retention.h"
#include "tests/faults/campaign/core/member.h"
#include "tests/faults/campaign/core/verdict.h"
#include "tests/faults/checker/load_postgres.h"
#include "tests/support/eventually.h"

namespace onceward::campaign::core {
namespace {

using namespace std::chrono_literals;
using support::Database;
using Clock = std::chrono::steady_clock;

constexpr auto control_every = 4ms;
constexpr auto retention_every = 12ms;
constexpr auto conversion_every = 50ms;

bool freezes(const Plan& plan) {
    return std::ranges::any_of(plan.faults, [](const PlannedFault& fault) {
        return fault.kind == FaultKind::frozen || fault.kind == FaultKind::killed_left_open;
    });
}

// Primary and standby of a seed that fails over.
struct Replicas {
    PrivatePostgres primary{core_server_options(true)};
    PrivatePostgres standby;
    bool detached = false;
    Replicas() : standby(make_standby(primary)) {}
    static PrivatePostgres make_standby(PrivatePostgres& primary) {
        support::create_worker_role(primary.dsn());
        return PrivatePostgres::standby_of(primary, {});
    }
    void wait_caught_up() {
        Database from(primary.dsn()), to(standby.dsn());
        const std::string reached = from.value("SELECT pg_current_wal_lsn()");
        if (!support::eventually(20s, [&] {
                return to.value("SELECT pg_last_wal_replay_lsn() >= '" + reached + "'") == "t";
            })) {
            throw std::runtime_error("the standby does not follow");
        }
    }
    // What commits from here on is lost.
    void detach() {
        Database to(standby.dsn());
        to.execute("ALTER SYSTEM SET primary_conninfo = ''");
        to.execute("SELECT pg_reload_conf()");
        support::eventually(
            20s, [&] { return to.number("SELECT count(*) FROM pg_stat_wal_receiver") == 0; });
        detached = true;
    }
};

// The hand that starts the workers and breaks the servers.
class Run {
  public:
    Run(const Plan& plan, CoreServers& servers, const CoreSeedOptions& options)
        : plan_(plan), servers_(servers), options_(options) {
        if (plan.server == ServerKind::replicated) replicas_.emplace();
        schema_.emplace(address(), plan.seed);
        checker::install_audit(address().dsn, schema_->name());
        scene_.emplace(plan_, *schema_);
        if (replicas_) replicas_->wait_caught_up();
        ledger_.name = ledger_name;
        if (plan.ledger != LedgerKind::table) ledger_.store = StoreKind::log;
        ledger_.retention = 0s;
        ledger_.rotate_claims = plan.rotate_claims;
    }

    void go() {
        if (freezes(plan_) && plan_.server != ServerKind::replicated) {
            FrozenSessionGuardOptions guard;
            guard.connection = scene_->worker_options(0);
            guard.limit = 60ms;
            guard.look_every = 25ms;
            guard.still_for = 50ms;
            scene_->guard.emplace(guard);
        }
        scene_->workload.produce();
        phase("setup");
        for (int number = 0; number < plan_.workers; ++number) {
            members_.emplace_back(*scene_, number, port());
        }
        for (Member& member : members_) member.start();
        faults_until_ = Clock::now() + options_.fault_limit;
        pass();
        if (plan_.unowned_partition >= 0) {
            scene_->log("the partition that nobody owned is assigned");
            scene_->board.assign_all();
            pass();
        }
        if (scene_->workload.produce()) {
            scene_->log("the second wave is produced");
            scene_->board.changed();
            pass();
        }
        phase("faults");
        quiet();
        for (Member& member : members_) member.join();
        phase("quiet");
    }

    SeedResult judge() {
        SeedResult result;
        result.seed = plan_.seed;
        Totals acknowledged;
        for (const Member& member : members_) acknowledged += member.acknowledged();
        scene_->guard.reset();
        members_.clear();
        for (const auto& [kind, times] : scene_->faults()) {
            const bool event = kind == "woken_when_overtaken" || kind == "generations_rotated" ||
                               kind == "generations_sealed" || kind == "segments_merged" ||
                               kind == "generations_dropped" || kind == "ledgers_converted";
            (event ? result.events : result.faults)[kind] = times;
        }
        result.kills = result.faults["killed"] + result.faults["killed_left_open"];
        std::erase_if(result.faults, [](const auto& entry) { return entry.second == 0; });
        result.messages = static_cast<std::int64_t>(scene_->workload.sent().size());
        result.keys = scene_->workload.keys();
        result.violations = scene_->violations();
        std::ostringstream trace;
        judge_seed(*scene_, *schema_, acknowledged, result, trace);
        trace_ = trace.str();
        if (plan_.server == ServerKind::replicated) schema_->leave();
        phase("judge");
        retention_.reset();
        log_ = scene_->log_text();
        scene_.reset();
        schema_.reset();
        phase("drop");
        result.phases = phases_;
        return result;
    }

    const std::string& log_text() const { return log_; }
    const std::string& trace() const { return trace_; }

  private:
    void phase(const std::string& name) {
        const auto now = Clock::now();
        phases_[name] += std::chrono::duration<double>(now - phase_begin_).count();
        phase_begin_ = now;
    }
    support::PostgresAddress address() {
        switch (plan_.server) {
            case ServerKind::shared: return servers_.shared();
            case ServerKind::mortal: return address_of(servers_.mortal());
            case ServerKind::replicated:
                return address_of(failed_over_ ? replicas_->standby : replicas_->primary);
        }
        std::abort();
    }
    std::uint16_t port() {
        if (plan_.server == ServerKind::mortal) return servers_.mortal().port();
        if (plan_.server == ServerKind::replicated) return replicas_->primary.port();
        return static_cast<std::uint16_t>(schema_->open()->number("SELECT inet_server_port()"));
    }

    // Until what there is was read, with faults.
    void pass() {
        while (!scene_->board.wait_drained(control_every) && Clock::now() < faults_until_) {
            control();
        }
        control();
    }

    void control() {
        break_server();
        if (sink_locked_since_ && Clock::now() - *sink_locked_since_ > 1.4 * lock_timeout()) {
            scene_->unlock_sink();
            sink_locked_since_.reset();
        } else if (!sink_locked_since_ && scene_->faults().contains("lock_time_out")) {
            sink_locked_since_ = Clock::now();
        }
        convert_ledger();
        look_at_ledger();
    }
    std::chrono::milliseconds lock_timeout() const { return scene_->lock_timeout(); }

    void break_server() {
        if (broken_ || plan_.server == ServerKind::shared) return;
        const PlannedFault& fault = plan_.faults.back();
        const std::int64_t attempts = scene_->attempts();
        if (attempts < fault.batch) return;
        if (plan_.server == ServerKind::mortal) {
            broken_ = true;
            scene_->log("the server is killed");
            servers_.mortal().kill_now();
            servers_.mortal().start();
            scene_->count(FaultKind::server_killed);
            scene_->log("the server is back");
            return;
        }
        if (!replicas_->detached) {
            replicas_->detach();
            detached_at_ = scene_->attempts();
            scene_->log("the standby is cut off");
        }
        const auto lost = static_cast<std::int64_t>(fault.number % 8) + 1;
        if (scene_->attempts() < detached_at_ + lost && !scene_->board.all_drained()) return;
        broken_ = true;
        replicas_->primary.kill_now();
        failed_over_ = true;
        for (Member& member : members_) member.redirect(replicas_->standby.port());
        replicas_->standby.promote();
        schema_->moved(address());
        scene_->count(FaultKind::failed_over);
        scene_->log("the standby is the primary");
        scene_->board.changed();
    }

    void look_at_ledger() {
        if (plan_.rotate_claims == 0 || Clock::now() < next_look_) return;
        next_look_ = Clock::now() + retention_every;
        try {
            if (!retention_) retention_.emplace(scene_->worker_options(0));
            RetentionOptions options;
            options.lock_timeout = 100ms;
            options.sealing.shard_claims = 200;
            options.merge.fewest = 2;
            const RetentionReport report = RetentionJob(options).look(*retention_, ledger_);
            if (report.rotated) scene_->count("generations_rotated");
            if (report.sealed) scene_->count("generations_sealed");
            if (report.merged) scene_->count("segments_merged");
            for (int i = 0; i < report.unlisted; ++i) scene_->count("generations_dropped");
        } catch (const PostgresError&) {
            retention_.reset();
        }
    }

    // Sealed generations and the open one, of few claims each, so that there is something of both.
    void convert_ledger() {
        if (plan_.converts_at == 0 || converted_ || Clock::now() < next_conversion_ ||
            scene_->attempts() < plan_.converts_at) {
            return;
        }
        next_conversion_ = Clock::now() + conversion_every;
        struct CutShort {};
        int steps = std::exchange(cut_short_, true) ? -1 : plan_.converts_at % 5;
        try {
            ConnectionOptions owner = scene_->worker_options(0);
            owner.dsn = Secret(address().dsn);
            Connection connection(owner);
            ConversionOptions options;
            options.most_open_claims = 300;
            options.sealing = {.shard_claims = 200, .lock_timeout = 100ms, .publish_tries = 5};
            options.reached = [&](ConversionStep, std::int64_t, std::int64_t) {
                if (steps-- == 0) throw CutShort();
            };
            convert_to_log(connection, ledger_name, options);
            converted_ = true;
            scene_->count("ledgers_converted");
            scene_->log("the ledger is a log");
        } catch (const CutShort&) {
            scene_->log("the conversion was cut short");
        } catch (const ConversionRefused& refused) {
            scene_->log(std::string("not converted: ") + refused.what());
        } catch (const PostgresError& error) {
            scene_->log("not converted: " + error.summary());
        }
    }

    // I12: no faults any more; all that is left is read within the limit.
    void quiet() {
        scene_->unlock_sink();
        scene_->log("quiet");
        for (Member& member : members_) member.be_quiet();
        scene_->board.be_quiet();
        const auto until = Clock::now() + options_.quiet_limit;
        while (!scene_->board.wait_drained(control_every) && Clock::now() < until) {
            look_at_ledger();
        }
        if (!scene_->board.all_drained()) {
            scene_->violated("I12: not drained within the limit after the last fault");
        }
        scene_->board.stop();
    }

    const Plan& plan_;
    CoreServers& servers_;
    const CoreSeedOptions& options_;
    std::optional<Replicas> replicas_;
    std::optional<SeedSchema> schema_;
    std::optional<Scene> scene_;
    std::list<Member> members_;
    std::optional<Connection> retention_;
    LedgerOptions ledger_;
    Clock::time_point faults_until_{};
    Clock::time_point next_look_{};
    std::optional<Clock::time_point> sink_locked_since_;
    std::int64_t detached_at_ = 0;
    std::map<std::string, double> phases_;
    Clock::time_point phase_begin_ = Clock::now();
    std::string log_;
    std::string trace_;
    Clock::time_point next_conversion_{};
    bool cut_short_ = false;  // a conversion was, or ended
    bool converted_ = false;
    bool broken_ = false;
    bool failed_over_ = false;
};

void keep(const CoreSeedOptions& options, const Plan& plan, const SeedResult& result,
          const Run& run) {
    if (options.keep.empty()) return;
    const std::filesystem::path folder = options.keep / ("seed-" + std::to_string(plan.seed));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "plan.txt") << to_text(plan);
    std::ofstream(folder / "log.txt") << run.log_text();
    std::ofstream(folder / "trace.jsonl") << run.trace();
    std::ofstream violations(folder / "violations.txt");
    for (const std::string& violation : result.violations) violations << violation << "\n";
}

}  // namespace

std::int64_t SeedResult::fault_count() const {
    return std::accumulate(faults.begin(), faults.end(), std::int64_t{0},
                           [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
}

PrivatePostgresOptions core_server_options(bool durable) {
    PrivatePostgresOptions options;
    options.fsync = durable;
    options.settings = {{"deadlock_timeout", "30ms"},
                        {"max_connections", "200"},
                        {"shared_buffers", "256MB"},
                        {"max_wal_size", "4GB"}};
    return options;
}

support::PostgresAddress address_of(const PrivatePostgres& server) {
    return {server.dsn(), server.dsn_for(support::worker_role, support::worker_password)};
}

PrivatePostgres& CoreServers::mortal() {
    if (!mortal_) {
        mortal_.emplace(core_server_options(true));
        support::create_worker_role(mortal_->dsn());
    }
    return *mortal_;
}

SeedResult run_core_seed(std::uint64_t seed, CoreServers& servers, const CoreSeedOptions& options) {
    const auto begin = Clock::now();
    const Plan plan = draw_plan(seed);
    Run run(plan, servers, options);
    run.go();
    SeedResult result = run.judge();
    result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!result.violations.empty() || options.keep_all) keep(options, plan, result, run);
    return result;
}

}  // namespace onceward::campaign::core
