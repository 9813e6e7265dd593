#include "tests/faults/campaign/lanes.h"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/faults/campaign/seed_run.h"

namespace onceward::campaign {
namespace {

// A stage that a seed could not leave healthy is not used again.
void run_one(std::unique_ptr<Stage>& stage, std::uint64_t seed, const LaneOptions& options,
             SeedResult& result) {
    const auto folder = options.folder / ("seed-" + std::to_string(seed));
    const Plan plan = draw_plan(seed);
    if (!stage || stage->brokers() != plan.brokers) {
        stage.reset();
        stage = std::make_unique<Stage>(plan.brokers);
    }
    result = run_seed(*stage, plan, folder);
    // Only a broker or a server of the campaign's own failed.
    if (!result.without_verdict.empty()) {
        auto first = folder;
        first += "-without-verdict";
        std::filesystem::remove_all(first);
        std::filesystem::rename(folder, first);
        stage.reset();
        stage = std::make_unique<Stage>(plan.brokers);
        std::string why = result.without_verdict;
        result = run_seed(*stage, plan, folder);
        result.without_verdict = std::move(why);
        result.again = 1;
    }
    if (!result.violations.empty()) {
        stage.reset();
    } else if (!options.keep) {
        std::filesystem::remove_all(folder);
    }
}

}  // namespace

void run_lanes(const LaneOptions& options, const std::function<void(const SeedResult&)>& done) {
    std::atomic<std::int64_t> next{0};
    std::mutex reporting;
    std::exception_ptr failure;
    const auto lane = [&] {
        try {
            std::unique_ptr<Stage> stage;
            while (std::chrono::steady_clock::now() < options.deadline) {
                const std::int64_t index = next++;
                if (index >= options.seeds) return;
                SeedResult result;
                run_one(stage, options.first_seed + static_cast<std::uint64_t>(index), options,
                        result);
                const std::lock_guard lock(reporting);
                done(result);
            }
        } catch (...) {
            const std::lock_guard lock(reporting);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < options.lanes; ++i) threads.emplace_back(lane);
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace onceward::campaign
