#include "tests/faults/campaign/core/core_campaign.h"

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "tests/faults/campaign/core/plan.h"
#include "tests/support/citus.h"

namespace onceward::campaign::core {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Campaign {
  public:
    Campaign(const CoreCampaignOptions& options, support::PostgresAddress shared, std::ostream& out)
        : options_(options), shared_(std::move(shared)), out_(out) {}

    CoreCampaignResult run() {
        std::vector<std::thread> threads;
        for (int job = 0; job < options_.jobs; ++job) threads.emplace_back([this] { work(); });
        for (std::thread& thread : threads) thread.join();
        if (failure_) std::rethrow_exception(failure_);
        result_.seconds = seconds_since(begin_);
        return result_;
    }

  private:
    bool over() const {
        if (options_.minutes > 0 && seconds_since(begin_) > options_.minutes * 60) return true;
        return stopped_;
    }

    void work() {
        try {
            CoreServers servers(shared_);
            CoreSeedOptions seed_options;
            seed_options.keep = options_.keep;
            seed_options.keep_all = options_.keep_all;
            while (!over()) {
                if (begun_++ >= options_.seeds) return;
                finished(run_core_seed(next_seed(), servers, seed_options));
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
            stopped_ = true;
        }
    }

    // On a Citus only seeds that use the given server: the others kill servers of their own.
    std::uint64_t next_seed() {
        std::uint64_t seed = options_.first_seed + next_++;
        while (support::on_citus() && draw_plan(seed).server != ServerKind::shared) {
            seed = options_.first_seed + next_++;
        }
        return seed;
    }

    void finished(const SeedResult& seed) {
        const std::lock_guard lock(mutex_);
        result_.add(seed);
        for (const std::string& violation : seed.violations) {
            out_ << "seed " << seed.seed << ": " << violation << "\n";
        }
        if (!seed.violations.empty()) {
            out_ << "again: " << options_.program << " --seeds 1 --first-seed " << seed.seed
                 << std::endl;
            if (options_.stop_at_first) stopped_ = true;
        }
        if (options_.progress != nullptr && options_.each) {
            *options_.progress << "seed " << seed.seed << ": " << seed.seconds << " s, "
                               << seed.messages << " messages, " << seed.fault_count() << " faults";
            for (const auto& [name, took] : seed.phases) {
                *options_.progress << ", " << name << " " << took;
            }
            *options_.progress << std::endl;
        }
        if (options_.progress != nullptr && result_.seeds % 100 == 0) {
            *options_.progress << result_.seeds << " seeds, " << result_.faults << " faults, "
                               << result_.keys << " keys, " << result_.violations.size()
                               << " violations, " << static_cast<int>(seconds_since(begin_)) << " s"
                               << std::endl;
        }
    }

    const CoreCampaignOptions& options_;
    support::PostgresAddress shared_;
    std::ostream& out_;
    Clock::time_point begin_ = Clock::now();
    std::atomic<std::int64_t> begun_{0};
    std::atomic<std::uint64_t> next_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    CoreCampaignResult result_;
    std::exception_ptr failure_;
};

}  // namespace

void CoreCampaignResult::add(const SeedResult& seed) {
    ++seeds;
    for (const auto& [kind, times] : seed.faults) faults_by_kind[kind] += times;
    for (const auto& [kind, times] : seed.events) events[kind] += times;
    faults += seed.fault_count();
    messages += seed.messages;
    keys += seed.keys;
    duplicates += seed.duplicates;
    kills += seed.kills;
    lost += seed.lost;
    twice += seed.twice;
    for (const std::string& violation : seed.violations) {
        violations.push_back("seed " + std::to_string(seed.seed) + ": " + violation);
    }
    if (!seed.violations.empty()) failed_seeds.push_back(seed.seed);
}

CoreCampaignResult run_core_campaign(const CoreCampaignOptions& options, std::ostream& out) {
    if (support::on_citus()) return Campaign(options, support::postgres(), out).run();
    const PrivatePostgres shared(core_server_options(false));
    support::create_worker_role(shared.dsn());
    return Campaign(options, address_of(shared), out).run();
}

std::string to_json(const CoreCampaignResult& result) {
    nlohmann::ordered_json json;
    json["tier"] = "core";
    json["seeds"] = result.seeds;
    json["faults"] = result.faults;
    json["faults_by_kind"] = result.faults_by_kind;
    json["events"] = result.events;
    json["messages"] = result.messages;
    json["keys"] = result.keys;
    json["duplicates"] = result.duplicates;
    json["kills"] = result.kills;
    json["lost"] = result.lost;
    json["twice"] = result.twice;
    json["violations"] = result.violations;
    json["failed_seeds"] = result.failed_seeds;
    json["seconds"] = result.seconds;
    return json.dump(2);
}

void print_table(const CoreCampaignResult& result, std::ostream& out) {
    const auto row = [&](const std::string& name, const auto& value) {
        out << "| " << name << " | " << value << " |\n";
    };
    row("core tier", "");
    out << "|---|---|\n";
    row("seeds", result.seeds);
    row("faults", result.faults);
    for (const auto& [kind, times] : result.faults_by_kind) row("- " + kind, times);
    for (const auto& [kind, times] : result.events) row("(" + kind + ")", times);
    row("messages", result.messages);
    row("keys", result.keys);
    row("duplicates", result.duplicates);
    row("kills", result.kills);
    row("lost", result.lost);
    row("twice", result.twice);
    row("violations", result.violations.size());
    row("seconds", static_cast<std::int64_t>(result.seconds));
    out << std::flush;
}

}  // namespace onceward::campaign::core
