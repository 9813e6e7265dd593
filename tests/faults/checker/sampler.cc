#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>

#include "tests/faults/checker/kafka_handle.h"
#include "tests/faults/checker/pg_session.h"
#include "tests/faults/checker/process_usage.h"
#include "tests/faults/checker/samplers.h"
#include "tests/faults/checker/scene.h"

namespace onceward::checker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int connect_seconds = 2;
constexpr milliseconds kafka_limit{2000};
constexpr std::int64_t newest_moves = 5000;
constexpr std::size_t most_violations = 50;

// The same violation is seen again with every look.
void add_new(Violations& all, const Violations& found) {
    for (const Violation& violation : found) {
        const bool known = std::ranges::any_of(all, [&](const Violation& other) {
            return other.text == violation.text && other.where == violation.where;
        });
        if (!known && all.size() < most_violations) all.push_back(violation);
    }
}

}  // namespace

struct Sampler::State {
    explicit State(const Scene& from) : scene(from) {
        pids.insert(scene.sample.pids.begin(), scene.sample.pids.end());
    }

    // DANGER: Kafka first and the fence after it. The other way round a commit in between would
    // look like an offset beyond the fence.
    void sample_offsets() {
        if (!consumer) consumer = open_consumer(scene.kafka, "read_uncommitted");
        const bool before = failed_over;
        const auto committed = committed_offsets(consumer.get(), kafka_limit, scene.evidence);
        const std::map<PartitionName, std::int64_t> fences = read_fences();
        if (before || failed_over) return;
        std::vector<OffsetSample> samples;
        for (const CommittedOffset& offset : committed) {
            const auto fence = fences.find(offset.name);
            samples.push_back({.name = offset.name,
                               .committed = offset.offset,
                               .next_offset = fence == fences.end() ? 0 : fence->second});
        }
        report.offset_samples += static_cast<std::int64_t>(samples.size());
        add_new(report.violations, check_offset_samples(scene.evidence, samples));
    }

    std::map<PartitionName, std::int64_t> read_fences() {
        const Rows rows = database().query("SELECT topic, partition, next_offset FROM " +
                                               database().identifier(scene.postgres.schema) +
                                               ".fences WHERE consumer_group = $1",
                                           {scene.postgres.consumer_group});
        std::map<PartitionName, std::int64_t> fences;
        for (int row = 0; row < rows.size(); ++row) {
            for (std::size_t i = 0; i < scene.evidence.topics.size(); ++i) {
                if (scene.evidence.topics[i].name != rows.text(row, 0)) continue;
                fences[{static_cast<int>(i), static_cast<int>(rows.number(row, 1))}] =
                    rows.number(row, 2);
            }
        }
        return fences;
    }

    void sample_owners() {
        Evidence history = scene.evidence;
        history.moves = read_fence_moves(database(), scene.postgres, history.topics, newest_moves);
        report.owner_samples += static_cast<std::int64_t>(history.moves.size());
        add_new(report.violations, check_owners(history));
    }

    void sample_resources() {
        const std::int64_t at =
            std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin).count();
        std::set<int> watched;
        {
            const std::lock_guard lock(mutex);
            watched = pids;
        }
        std::int64_t living = 0;
        for (const int pid : watched) {
            std::optional<ResourceSample> sample = usage_of(pid);
            if (!sample) {
                const std::lock_guard lock(mutex);
                pids.erase(pid);
                continue;
            }
            sample->at_ms = at;
            resources.push_back(*sample);
            ++report.resource_samples;
            ++living;
        }
        const Rows rows = database().query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND (application_name = $1 OR application_name LIKE $1 || ' %')",
            {scene.sample.application_name});
        if (living == 0) return;
        resources.push_back(
            {.pid = 0, .at_ms = at, .connections = (rows.number(0, 0) + living - 1) / living});
    }

    PgSession& database() {
        if (!session) session.emplace(scene.postgres.dsn, connect_seconds);
        return *session;
    }

    // A look that fails is none: faults are the point of the run.
    template <typename Look>
    void look(const Look& one) {
        try {
            one();
        } catch (const std::runtime_error&) {
            session.reset();
            ++report.unanswered;
        }
    }

    const Scene& scene;
    steady_clock::time_point begin = steady_clock::now();
    std::optional<PgSession> session;
    Consumer consumer;
    std::vector<ResourceSample> resources;
    SampleReport report;
    std::mutex mutex;
    std::condition_variable stopped;
    std::set<int> pids;  // under the mutex
    std::atomic<bool> failed_over{false};
};

Sampler::Sampler(const Scene& scene) : state_(std::make_unique<State>(scene)) {}
Sampler::~Sampler() = default;

void Sampler::watch(int pid) {
    const std::lock_guard lock(state_->mutex);
    state_->pids.insert(pid);
}

void Sampler::expect_fail_over() { state_->failed_over = true; }

SampleReport Sampler::run(const std::atomic<bool>& stop, std::chrono::seconds limit) {
    State& state = *state_;
    constexpr milliseconds step{50};
    const auto over = [&] {
        return stop || (limit.count() > 0 && steady_clock::now() >= state.begin + limit);
    };
    // The last look is one at the end, however short the time was.
    int looks = 0;
    for (bool last = false; !last;) {
        last = over();
        const auto next = steady_clock::now() + state.scene.sample.every;
        state.look([&] { state.sample_offsets(); });
        if (last || ++looks % state.scene.sample.owners_every == 0) {
            state.look([&] { state.sample_owners(); });
        }
        state.look([&] { state.sample_resources(); });
        while (!over() && steady_clock::now() < next) {
            // Nobody notifies: `stop` may be set by a signal.
            std::unique_lock lock(state.mutex);
            state.stopped.wait_for(lock, step);
        }
    }
    add_new(state.report.violations, check_resources(state.resources, state.scene.sample.budgets));
    return state.report;
}

}  // namespace onceward::checker
