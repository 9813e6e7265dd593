#include "tests/faults/campaign/core/member.h"

#include <unistd.h>

#include <algorithm>

#include "dedup/retention/watermark.h"

namespace onceward::campaign::core {
namespace {

using namespace std::chrono_literals;
using support::CoreWorker;
using support::CoreWorkerOptions;

constexpr auto watermark_every = 50ms;

bool needs_proxy(const PlannedFault& fault) {
    switch (fault.kind) {
        case FaultKind::commit_cut_before:
        case FaultKind::commit_cut_inside_request:
        case FaultKind::commit_cut_after:
        case FaultKind::commit_cut_inside_answer:
        case FaultKind::cut_at_byte: return true;
        case FaultKind::cut:
        case FaultKind::terminated:
        case FaultKind::killed:
        case FaultKind::killed_left_open:
        case FaultKind::frozen:
        case FaultKind::reassigned:
        case FaultKind::stolen_fence:
        case FaultKind::dropped_batch:
        case FaultKind::swallowed_in_sink:
        case FaultKind::swallowed_at_commit:
        case FaultKind::passing_error:
        case FaultKind::lock_time_out:
        case FaultKind::server_killed:
        case FaultKind::failed_over: return false;
    }
    return false;
}

}  // namespace

Member::Member(Scene& scene, int number, std::uint16_t server_port)
    : scene_(scene),
      number_(number),
      name_("worker-" + std::to_string(number)),
      port_(server_port),
      sink_(scene.worker_options(0).schema, scene.plan.at_once) {
    for (const PlannedFault& fault : scene.plan.faults) {
        if (fault.worker == number) waiting_.push_back(fault);
    }
    if (scene.plan.server != ServerKind::replicated &&
        std::ranges::none_of(waiting_, needs_proxy)) {
        return;
    }
    proxy_.emplace(support::CuttingProxy::Protocol::postgres, server_port);
    port_ = proxy_->port();
    proxy_->on_commit(
        [this](const support::ProxiedCommit& commit) { return commit_arrived(commit); });
}

Member::~Member() { join(); }

void Member::start() {
    thread_ = std::thread([this] { run(); });
}

void Member::join() {
    if (thread_.joinable()) thread_.join();
    for (const int descriptor : left_open_) ::close(descriptor);
    left_open_.clear();
}

void Member::be_quiet() {
    if (proxy_) proxy_->cut_nowhere();
    armed_commit_ = -1;
}

void Member::redirect(std::uint16_t server_port) {
    proxy_->set_target(server_port);
    proxy_->cut_all();
}

void Member::make_worker() {
    CoreWorkerOptions options;
    options.connection = scene_.worker_options(port_);
    options.group = consumer_group;
    options.topic = topic_name;
    options.ledger = ledger_name;
    options.name = name_;
    if (scene_.plan.ledger != LedgerKind::table) options.store = StoreKind::log;
    options.any_store = scene_.plan.converts_at > 0;
    if (scene_.plan.ledger == LedgerKind::log_of_partitions) options.reach = Reach::partition;
    options.log_windows = scene_.plan.ledger == LedgerKind::log_in_one_process
                              ? scene_.log_windows
                              : std::make_shared<LogWindows>(scene_.log_windows->limit());
    if (scene_.plan.rotate_claims > 0) options.retention = 0s;
    options.batch_messages = static_cast<std::size_t>(scene_.plan.batch_messages);
    options.observer = this;
    options.guard = scene_.guard ? &*scene_.guard : nullptr;
    options.on_commit = [this](const FenceMove& move) {
        const bool look = look_at_next_ || batch_ % 4 == 0;
        look_at_next_ = false;
        scene_.offset_committed(move, look);
    };
    worker_.emplace(scene_.workload.log(), sink_, std::move(options));
}

// The process is gone; what it was told of stays told.
void Member::bury() {
    if (!worker_) return;
    acknowledged_ += worker_->totals;
    const auto deadlocks = worker_->failures.find("40P01");
    if (deadlocks != worker_->failures.end() && deadlocks->second > injected_deadlocks_) {
        scene_.violated("F20: " + std::to_string(deadlocks->second - injected_deadlocks_) +
                        " deadlocks (40P01) between workers of one ledger");
    }
    injected_deadlocks_ = 0;
    for (const auto& [state, times] : worker_->failures) {
        scene_.log(name_ + " had " + std::to_string(times) + " failures " + state);
    }
    worker_.reset();
    samplers_.clear();
}

void Member::run() {
    while (!scene_.board.stopping()) {
        try {
            step();
        } catch (const Killed&) {
            killed_ = false;
            bury();
        } catch (const PostgresError& error) {
            // What stops a topic: the batch is thrown away, the fence is taken again.
            scene_.log(name_ + " stopped: " + error.summary());
            worker_->abandon();
            worker_->assign({});
        } catch (const std::exception& error) {
            scene_.violated(name_ + " ended: " + error.what());
            bury();
            scene_.board.rest(0, 10ms);
        }
    }
    bury();
}

void Member::step() {
    const Board::Assignment mine = scene_.board.of(number_);
    if (!worker_) make_worker();
    worker_->assign(mine.partitions);
    if (mine.partitions.empty()) {
        scene_.board.drained(number_, mine.version);
        scene_.board.rest(mine.version, 20ms);
        return;
    }
    if (std::exchange(drop_next_, false)) return drop_batch();
    const std::map<std::string, int> before = worker_->failures;
    const bool more = worker_->step();
    // In a round trip that failed the broken statement is thrown, and this is not.
    if (std::exchange(killed_, false)) throw Killed{};
    const bool failed = worker_->failures != before;
    if (failed) log_failure(before);
    look_after_byte_cut();
    if (!worker_->connected()) {
        // A server that is away would be asked without a pause.
        if (failed) scene_.board.rest(0, 3ms);
        return;
    }
    if (scene_.plan.rotate_claims > 0) tick_watermarks();
    if (more || !worker_->connected()) return;
    if (!worker_->connection().alive()) {
        worker_->lose_connection();
        return;
    }
    scene_.board.drained(number_, mine.version);
    scene_.board.rest(mine.version, 5ms);
}

bool Member::at_some_end() {
    const auto& mine = scene_.board.of(number_).partitions;
    return std::ranges::any_of(mine, [&](int partition) {
        return worker_->fences().owns(topic_name, Partition{partition}) &&
               worker_->position(partition) >= scene_.workload.log().end(partition);
    });
}

void Member::log_failure(const std::map<std::string, int>& before) {
    for (const auto& [state, times] : worker_->failures) {
        const auto earlier = before.find(state);
        if (earlier != before.end() && earlier->second == times) continue;
        scene_.log(name_ + " batch " + std::to_string(batch_) + ": " +
                   (state.empty() ? "the connection is lost" : state));
    }
}

// A batch is lost inside the worker: what it reads next begins after it.
void Member::drop_batch() {
    try {
        worker_->connect();
        worker_->take_fences();
        if (!worker_->fill()) return;
        worker_->processor().abandon();
        // After the last message nothing more is read that would tell.
        if (at_some_end()) return worker_->assign({});
        scene_.count(FaultKind::dropped_batch);
        scene_.log(name_ + " dropped a batch");
    } catch (const PostgresError&) {
        worker_->lose_connection();
    }
}

// As the product's consumer/partitions/retention_watermarks.cc, with the log's end in place of the
// broker's.
void Member::tick_watermarks() {
    const auto now = std::chrono::steady_clock::now();
    if (!worker_->ready() || now < next_tick_ || !worker_->processor().idle()) return;
    next_tick_ = now + watermark_every;
    try {
        Connection& connection = worker_->connection();
        write_partition_list(connection, worker_->ledger(), consumer_group, topic_name,
                             read_clocks(connection), scene_.plan.partitions);
        for (int number = 0; number < scene_.plan.partitions; ++number) {
            const Partition partition{number};
            if (!worker_->fences().owns(topic_name, partition)) {
                samplers_.erase(partition);
                continue;
            }
            WatermarkSampler& sampler =
                samplers_.try_emplace(partition, std::chrono::milliseconds(0)).first->second;
            const Offset fence = worker_->position(number);
            if (sampler.wants_sample(now)) {
                const ClockReading clocks = read_clocks(connection);
                sampler.sampled(now, clocks, scene_.workload.log().end(number), fence);
            }
            const auto write = sampler.fence_at(fence);
            if (!write) continue;
            const std::string& owner = worker_->fences().owner(topic_name, partition);
            write_watermark(connection, {consumer_group, topic_name, partition, owner, ""}, *write,
                            std::nullopt);
        }
    } catch (const PostgresError& error) {
        worker_->handle(error, classify(error.diagnosis(), Origin::ours, 0));
    }
}

void Member::look_after_byte_cut() {
    if (!byte_cut_) return;
    if (proxy_->cuts() > *byte_cut_) {
        scene_.count(FaultKind::cut_at_byte);
    } else if (!scene_.board.quiet()) {
        return;
    }
    proxy_->cut_nowhere();
    byte_cut_.reset();
}

}  // namespace onceward::campaign::core
