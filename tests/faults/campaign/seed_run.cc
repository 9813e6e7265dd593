#include "tests/faults/campaign/seed_run.h"

#include <algorithm>
#include <fstream>
#include <list>

#include "lab/embedded/reserved_port.h"
#include "tests/faults/campaign/feeder.h"
#include "tests/faults/campaign/fleet.h"
#include "tests/faults/campaign/hook_server.h"
#include "tests/faults/campaign/injector.h"
#include "tests/faults/campaign/judge.h"
#include "tests/faults/campaign/message_source.h"
#include "tests/faults/campaign/recreated_topic.h"
#include "tests/faults/campaign/request_clients.h"
#include "tests/faults/campaign/server_log.h"
#include "tests/faults/campaign/small_disk.h"
#include "tests/faults/campaign/tally.h"
#include "tests/faults/campaign/watcher.h"
#include "tests/faults/checker/load_postgres.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::campaign {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// I12: these three limits follow one another when the faults have ended. All processes are ready
// within the first, each request has its answer within the second, and nothing is left to read
// within the third.
constexpr milliseconds settle_limit{30'000};
constexpr milliseconds answer_limit{30'000};
constexpr milliseconds quiet_limit{90'000};
constexpr milliseconds drain_limit{20'000};
constexpr milliseconds says_so_limit{20'000};
constexpr milliseconds slow_look{250};
constexpr int published_partitions = 3;
constexpr std::size_t kept_log_bytes = 1'000'000;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The seed's schema, which is dropped in the end whatever became of the session that made it.
class SeedSchema {
  public:
    explicit SeedSchema(const Stage& stage)
        : dsn_(stage.direct_dsn()), schema_({dsn_, stage.addresses().dsn}) {}
    ~SeedSchema() {
        try {
            schema_.database() = support::Database(dsn_);
        } catch (const std::exception&) {
            // FreshSchema tells that it stays.
        }
    }
    support::FreshSchema& operator*() { return schema_; }
    const std::string& name() const { return schema_.name(); }

  private:
    std::string dsn_;
    support::FreshSchema schema_;
};

class SeedRun {
  public:
    SeedRun(Stage& stage, const Plan& plan, const std::filesystem::path& folder)
        : stage_(stage), plan_(plan), schema_(stage), tally_((folder / "faults.log").string()) {
        names_.folder = folder;
        names_.schema = schema_.name();
        names_.group = support::unique_name("group");
        names_.side_topic = support::unique_name("side");
        prepare();
    }

    void run(SeedResult& result) try { judge(result); } catch (const std::exception&) {
        // Without a verdict, but what was violated until then stays so.
        if (watcher_) {
            for (const std::string& line : watcher_->finish()) tally_.violation(line);
        }
        take(result);
        throw;
    }

  private:
    void judge(SeedResult& result) {
        const DeadlockWatch deadlocks(stage_.postgres().log());
        Judged judged;
        for (const FaultPlan& fault : plan_.faults) judged.take(fault.kind);
        write_scene(plan_, names_, stage_, judged);
        ended("prepare", result);
        Watcher& watcher = watcher_.emplace(names_.folder / "scene.json");
        Fleet fleet(plan_, names_, stage_.addresses(), tally_);
        fleet.on_start([&](pid_t process) { watcher.watch(process); });
        Feeder feeder(plan_, names_, stage_.direct_bootstrap_servers());
        if (!names_.doors.empty())
            clients_.emplace(plan_, names_.doors, names_.folder / requests_file);
        inject(fleet, feeder, watcher, judged);
        ended("faults", result);
        quiet(fleet, feeder, judged, result);
        if (hook_) hook_->finish();
        for (const std::string& line : watcher.finish()) tally_.violation(line);
        watcher_.reset();
        ended("quiet", result);
        // After a fail-over the log is another server's.
        const std::int64_t seen = judged.failed_over ? 0 : deadlocks.seen();
        if (seen > 0)
            tally_.violation("F20: the server met " + std::to_string(seen) + " deadlocks (40P01)");
        write_scene(plan_, names_, stage_, judged);
        if (plan_.trial == Trial::own_codes) {
            rejected_by_own_codes_ =
                rows_of("dead_letters WHERE sqlstate IN (" + listed_own_codes() + ")");
        }
        merged_ = rows_of("segments WHERE merge > 0");
        run_checker(names_, result);
        if (plan_.trial == Trial::operators && result.violations.empty() &&
            tally_.violations().empty())
            recreate_topic(fleet, feeder.partitions(0));
        take(result);
        excuse_waiting(result);
        ended("judge", result);
        // Else the stage is not used again.
        if (result.violations.empty()) clean();
        ended("clean", result);
    }

    void recreate_topic(Fleet& fleet, int partitions) {
        fleet.on_start({});
        RecreatedTopic{plan_, names_, stage_, fleet, operator_of(names_), tally_, partitions}.run();
        fleet.stop(drain_limit);
    }

    void prepare() {
        std::ofstream(names_.folder / "plan.txt") << to_text(plan_);
        std::ofstream(names_.folder / "order.proto") << proto_file;
        stage_.kafka().create_topic(names_.side_topic, 1);
        for (std::size_t i = 0; i < plan_.workload.topics.size(); ++i) {
            names_.topics.push_back(support::unique_name("topic"));
            stage_.kafka().create_topic(names_.topics[i], plan_.workload.topics[i].partitions);
            const std::string table =
                (*schema_).user_table("sink_" + std::to_string(i), sink_columns(plan_.trial));
            if (plan_.trial == Trial::own_codes)
                (*schema_).database().execute(own_code_trigger(table));
        }
        if (plan_.outside == Outside::outbox) {
            names_.published = support::unique_name("published");
            stage_.kafka().create_topic(names_.published, published_partitions);
        }
        if (plan_.outside == Outside::webhook || plan_.outside == Outside::http) {
            hook_.emplace(plan_, names_.folder / calls_file);
            names_.hook_port = hook_->port();
        }
        if (plan_.outside == Outside::http) open_routes();
        checker::install_audit(stage_.direct_dsn(), names_.schema);
        if (plan_.trial == Trial::disk_full) move_to_small_disk();
        if (plan_.trial == Trial::operators || plan_.ledger.converts) {
            std::ofstream(names_.folder / "operator.yaml") << worker_configuration(
                plan_, names_, {stage_.direct_bootstrap_servers(), stage_.direct_dsn()}, 0);
        }
        // Where none is there yet, workers that take either store make a log.
        if (plan_.ledger.converts) (*schema_).database().execute(table_ledgers(plan_, names_));
        if (plan_.trial == Trial::clocks) stage_.use_false_clock();
        if (plan_.standby) stage_.start_standby();
    }

    // Nobody may mount on some machines; then the disk has room all the time.
    void move_to_small_disk() try {
        disk_.emplace(stage_.postgres(), stage_.direct_dsn());
        disk_->take_schema(names_.schema);
    } catch (const std::exception& error) {
        disk_.reset();
        tally_.write(std::string("no small disk: ") + error.what());
    }

    void open_routes() {
        for (int slot = 0; slot < plan_.fleet.processes + guest_slots; ++slot)
            names_.doors.push_back(ports_.emplace_back().number());
        (*schema_).user_table("request_effects", request_columns);
        (*schema_).database().execute(request_function(names_));
    }

    void inject(Fleet& fleet, Feeder& feeder, Watcher& watcher, Judged& judged) {
        Injector injector({plan_, names_, stage_, fleet, feeder, tally_,
                           [&] { watcher.expect_fail_over(); }, disk_ ? &*disk_ : nullptr});
        for (int slot = 0; slot < plan_.fleet.processes; ++slot) fleet.start(slot);
        auto begin = Clock::now();
        std::size_t next = 0;
        support::eventually(plan_.fault_phase + 120s, [&] {
            const auto look = Clock::now();
            for (; next < plan_.faults.size() && look >= begin + plan_.faults[next].at; ++next)
                injector.begin(plan_.faults[next]);
            injector.advance();
            fleet.look();
            // What waits for a server to come back does not push the next ones together.
            const auto spent = Clock::now() - look;
            if (spent > slow_look) begin += spent;
            return Clock::now() >= begin + plan_.fault_phase && next == plan_.faults.size();
        });
        injector.finish();
        if (plan_.trial == Trial::operators) {
            stage_.heal();
            injector.say_again();
        }
        judged.failed_over = injector.failed_over();
        judged.lost = injector.lost();
        judged.troubles = injector.troubles();
        for (const Injector::TopicTime& since : injector.standstills())
            judged.halted.push_back({since, feeder.partitions(since.topic), false});
    }

    // A worker's log, of whichever one it is.
    bool says_it_stopped(const std::string& topic) {
        return support::eventually(says_so_limit, [&] {
            for (int slot = 0; slot < plan_.fleet.processes; ++slot) {
                std::ifstream file(names_.folder / ("worker-" + std::to_string(slot) + ".log"));
                for (std::string line; std::getline(file, line);) {
                    if (line.find("keys may have moved") != std::string::npos &&
                        line.find(topic) != std::string::npos)
                        return true;
                }
            }
            return false;
        });
    }

    void quiet(Fleet& fleet, Feeder& feeder, Judged& judged, SeedResult& result) {
        tally_.write("quiet begins");
        const auto begin = Clock::now();
        stage_.heal();
        stage_.drop_standby();
        if (!fleet.settle(settle_limit)) tally_.violation("I12: the fleet did not come back");
        feeder.finish();
        if (clients_) told_all(clients_->finish(answer_limit));
        auto last = plan_.trial == Trial::operators ? ends_of(feeder) : feeder.last_offsets();
        for (const Judged::Halted& halted : judged.halted) {
            std::erase_if(last, [&](const auto& one) {
                return one.first.first == halted.since.topic;
            });
        }
        const auto waiting = [&] { return behind(last); };
        const bool drained = support::eventually(quiet_limit, [&] {
            fleet.look();
            return waiting().empty();
        });
        for (Judged::Halted& halted : judged.halted)
            halted.said = says_it_stopped(names_.topics[halted.since.topic]);
        result.quiet_seconds = seconds_since(begin);
        if (!drained) tally_.violation("I12: the lag did not go to 0: " + waiting());
        tally_.write("quiet ends");
        fleet.stop(drain_limit);
    }

    // A broker whose coordinator failed lets no consumer make progress.
    void excuse_waiting(SeedResult& result) {
        const auto waits = [](const std::string& line) { return line.starts_with("I12: "); };
        if (result.violations.empty() || !std::ranges::all_of(result.violations, waits)) return;
        if (!a_coordinator_failed(stage_.broker().log(), names_.group)) return;
        result.without_verdict = "the broker's coordinator of the group failed by itself";
    }

    void ended(const char* phase, SeedResult& result) {
        result.phases[phase] = seconds_since(phase_begin_);
        phase_begin_ = Clock::now();
    }

    // A broker that is killed looks through all that it has when it starts again: what seeds leave
    // left would make each a bit slower than the one before.
    void clean() {
        if (plan_.trial == Trial::clocks) stage_.use_true_clock();
        std::vector<std::string> topics = names_.topics;
        topics.push_back(names_.side_topic);
        if (!names_.published.empty()) topics.push_back(names_.published);
        for (const std::string& topic : topics) {
            try {
                stage_.kafka().delete_topic(topic);
            } catch (const std::exception& error) {
                tally_.write("topic " + topic + " stays: " + error.what());
            }
        }
    }

    std::int64_t rows_of(const std::string& which) {
        return support::Database(stage_.direct_dsn())
            .number("SELECT count(*) FROM " + names_.schema + "." + which);
    }

    void told_all(const std::vector<std::string>& untold) {
        if (untold.empty()) return;
        tally_.violation("I12: " + std::to_string(untold.size()) +
                         " requests were not told what became of them, such as " + untold.front());
    }

    // With what an operator has sent again.
    std::map<std::pair<std::size_t, int>, std::int64_t> ends_of(const Feeder& feeder) {
        std::map<std::pair<std::size_t, int>, std::int64_t> ends;
        for (const auto& [partition, offset] : feeder.last_offsets()) {
            const auto& [topic, number] = partition;
            ends[partition] = stage_.kafka().offsets(names_.topics[topic], number).second - 1;
        }
        return ends;
    }

    // The partitions whose fence has not passed the last message that a reader can see; then what
    // waits to be published.
    std::string behind(const std::map<std::pair<std::size_t, int>, std::int64_t>& last) {
        std::map<std::pair<std::string, int>, std::int64_t> fences;
        if (!session_) session_.emplace(stage_.direct_dsn());
        for (const support::Row& row : session_->execute(
                 "SELECT topic, partition, next_offset FROM " + names_.schema + ".fences"))
            fences[{row[0].value(), std::stoi(row[1].value())}] = std::stoll(row[2].value());
        std::string found;
        for (const auto& [partition, offset] : last) {
            const auto& [topic, number] = partition;
            const std::int64_t fence = fences[{names_.topics[topic], number}];
            if (fence <= offset)
                found += names_.topics[topic] + "/" + std::to_string(number) + " at " +
                         std::to_string(fence) + " of " + std::to_string(offset + 1) + "; ";
        }
        if (!found.empty() || plan_.outside != Outside::outbox) return found;
        const std::int64_t rows =
            session_->number("SELECT count(*) FROM " + names_.schema + ".outbox");
        return rows == 0 ? "" : std::to_string(rows) + " rows in the outbox";
    }

    void take(SeedResult& result) {
        const std::string_view kind = name_of(plan_.outside);
        if (!kind.empty()) result.kinds[std::string(kind)] = 1;
        if (trial_took_effect()) result.kinds[std::string(name_of(plan_.trial))] = 1;
        if (merged_ > 0) result.kinds["merged"] = 1;
        if (tally_.faults().contains(FaultKind::operator_convert)) result.kinds["converted"] = 1;
        for (const auto& [kind, count] : tally_.faults()) {
            result.faults[std::string(name_of(kind))] = count;
            if (kind == FaultKind::kill_outside || kind == FaultKind::kill_at_step)
                result.kills += count;
            if (kind == FaultKind::kill_outside) result.kills_from_outside = count;
        }
        for (const std::string& line : tally_.violations()) result.violations.push_back(line);
    }

    // A seed is one of its kind only where that was seen.
    bool trial_took_effect() {
        if (plan_.trial == Trial::nothing) return false;
        if (plan_.trial == Trial::own_codes) return rejected_by_own_codes_ > 0;
        if (plan_.trial == Trial::reach) return true;
        return std::ranges::any_of(tally_.faults(), [](const auto& fault) {
            return fault.first >= FaultKind::long_table_lock &&
                   fault.first != FaultKind::operator_convert;
        });
    }

    Clock::time_point phase_begin_ = Clock::now();
    Stage& stage_;
    const Plan& plan_;
    std::optional<SmallDisk> disk_;  // outlives the schema that lies on it
    SeedSchema schema_;
    Names names_;
    Tally tally_;
    std::optional<HookServer> hook_;
    std::list<ReservedPort> ports_;
    std::optional<RequestClients> clients_;
    std::optional<support::Database> session_;
    std::optional<Watcher> watcher_;
    std::int64_t rejected_by_own_codes_ = 0;
    std::int64_t merged_ = 0;  // segments that were made of others
};

// The stage, and its logs with it, does not outlive such a seed.
void keep_logs(Stage& stage, const std::filesystem::path& folder) {
    std::ofstream(folder / "postgres.log") << tail_of(stage.postgres().log(), kept_log_bytes);
    std::ofstream(folder / "broker.log") << tail_of(stage.broker().log(), kept_log_bytes);
}

}  // namespace

SeedResult run_seed(Stage& stage, const Plan& plan, const std::filesystem::path& folder) {
    const auto begin = Clock::now();
    SeedResult result;
    result.seed = plan.seed;
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    try {
        SeedRun(stage, plan, folder).run(result);
    } catch (const std::exception& error) {
        // From the end of the quiet on it is the judge's failure, which no second run excuses.
        if (!result.phases.contains("quiet") && result.violations.empty()) {
            result.without_verdict = error.what();
        }
        result.violations.push_back(std::string("no verdict: ") + error.what());
    }
    if (!result.violations.empty()) keep_logs(stage, folder);
    result.seconds = seconds_since(begin);
    return result;
}

}  // namespace onceward::campaign
