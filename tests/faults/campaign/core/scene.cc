#include "tests/faults/campaign/core/scene.h"

#include <algorithm>

namespace onceward::campaign::core {
namespace {

using namespace std::chrono_literals;
using support::DatabaseError;

constexpr std::size_t most_log = 1 << 20;

bool has(const Plan& plan, FaultKind kind) {
    return std::ranges::any_of(plan.faults,
                               [&](const PlannedFault& fault) { return fault.kind == kind; });
}

}  // namespace

Scene::Scene(const Plan& wanted, SeedSchema& schema)
    : plan(wanted),
      workload(plan),
      board(plan.partitions, plan.workers, plan.unowned_partition),
      schema_(schema),
      database_(schema.open()) {}

void Scene::count(FaultKind kind) { count(std::string(to_text(kind))); }

void Scene::count(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    ++faults_[kind];
}

std::map<std::string, std::int64_t> Scene::faults() const {
    const std::lock_guard lock(mutex_);
    return faults_;
}

void Scene::violated(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (violations_.size() < 20) violations_.push_back(text);
}

std::vector<std::string> Scene::violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
}

std::int64_t Scene::attempt() {
    const std::lock_guard lock(mutex_);
    return ++attempts_;
}

std::int64_t Scene::attempts() const {
    const std::lock_guard lock(mutex_);
    return attempts_;
}

void Scene::offset_committed(const FenceMove& move, bool look) {
    const int partition = move.span.partition.raw();
    {
        const std::lock_guard lock(mutex_);
        std::int64_t& last = committed_[partition];
        last = std::max(last, move.span.end.raw());
    }
    // A fail-over may put the fence back, and an offset that was committed before stays.
    if (!look || plan.server == ServerKind::replicated) return;
    const auto rows =
        ask("SELECT next_offset FROM fences WHERE partition = " + std::to_string(partition));
    if (!rows || rows->empty()) return;
    const std::int64_t fence = std::stoll(*(*rows)[0][0]);
    if (fence >= move.span.end.raw()) return;
    violated("I2: the offset " + std::to_string(move.span.end.raw()) + " of partition " +
             std::to_string(partition) + " was committed to Kafka while the fence stood at " +
             std::to_string(fence));
}

std::map<int, std::int64_t> Scene::committed_offsets() const {
    const std::lock_guard lock(mutex_);
    return committed_;
}

std::optional<support::Rows> Scene::ask(const std::string& sql) {
    const std::lock_guard lock(database_mutex_);
    try {
        if (!database_) database_ = schema_.open();
        return database_->execute(sql);
    } catch (const DatabaseError& error) {
        if (error.sqlstate() != "55P03") database_.reset();
        return std::nullopt;
    }
}

bool Scene::terminate(int pid) {
    const auto rows = ask("SELECT pg_terminate_backend(" + std::to_string(pid) + ")");
    return rows && !rows->empty() && (*rows)[0][0] == "t";
}

bool Scene::steal(int partition) {
    // The row may be in a worker's hands, on this very thread.
    const auto rows = ask(
        "SET lock_timeout = '50ms'; UPDATE fences SET owner = gen_random_uuid(), epoch = epoch + "
        "1, owner_name = 'thief', taken_at = now() WHERE partition = " +
        std::to_string(partition) + " RETURNING partition");
    return rows && !rows->empty();
}

bool Scene::lock_sink() {
    const std::lock_guard lock(database_mutex_);
    if (blocker_) return false;
    try {
        blocker_ = schema_.open();
        blocker_->execute(
            "SET lock_timeout = '100ms'; BEGIN; LOCK TABLE effects IN ACCESS "
            "EXCLUSIVE MODE");
        return true;
    } catch (const DatabaseError&) {
        blocker_.reset();
        return false;
    }
}

void Scene::unlock_sink() {
    const std::lock_guard lock(database_mutex_);
    blocker_.reset();
}

std::chrono::milliseconds Scene::lock_timeout() const {
    return has(plan, FaultKind::lock_time_out) ? 150ms : 2'000ms;
}

ConnectionOptions Scene::worker_options(std::uint16_t port) const {
    ConnectionOptions options = schema_.worker(port);
    options.lock_timeout = lock_timeout();
    options.idle_in_transaction_timeout = 2'000ms;
    return options;
}

void Scene::log(const std::string& line) {
    const auto now = std::chrono::steady_clock::now();
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(now - begin_).count();
    const std::lock_guard lock(mutex_);
    if (log_.size() < most_log) log_ += std::to_string(milliseconds) + " ms: " + line + "\n";
}

std::string Scene::log_text() const {
    const std::lock_guard lock(mutex_);
    return log_;
}

}  // namespace onceward::campaign::core
