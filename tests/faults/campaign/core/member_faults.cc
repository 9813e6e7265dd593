// How a member breaks: called by the product's code at each step, on the member's thread.

#include <libpq-fe.h>

#include "tests/faults/campaign/core/broken_socket.h"
#include "tests/faults/campaign/core/member.h"

namespace onceward::campaign::core {
namespace {

using namespace std::chrono_literals;
using support::CommitFault;

constexpr auto longest_freeze = 800ms;

CommitFault commit_fault(FaultKind kind) {
    if (kind == FaultKind::commit_cut_before) return CommitFault::cut_before;
    if (kind == FaultKind::commit_cut_inside_request) return CommitFault::cut_inside_request;
    if (kind == FaultKind::commit_cut_after) return CommitFault::cut_after;
    return CommitFault::cut_inside_answer;
}

}  // namespace

int Member::socket() { return PQsocket(worker_->connection().raw()); }

void Member::reached(Step step) {
    if (step == Step::before_begin) {
        ++batch_;
        scene_.attempt();
    }
    if (step == Step::after_take_over) scene_.board.took_fence(number_);
    if (waiting_.empty() || scene_.board.quiet()) return;
    for (auto fault = waiting_.begin(); fault != waiting_.end(); ++fault) {
        if (fault->step != step || fault->batch > batch_) continue;
        const PlannedFault now = *fault;
        waiting_.erase(fault);  // before it may throw
        scene_.log(name_ + " batch " + std::to_string(batch_) + " " + std::string(to_text(step)) +
                   ": " + std::string(to_text(now.kind)));
        if (fire(now, step)) scene_.count(now.kind);
        return;
    }
}

// Whether it took effect here and now; the others are counted where they do.
bool Member::fire(const PlannedFault& fault, Step step) {
    switch (fault.kind) {
        case FaultKind::cut: close_socket(socket()); return true;
        case FaultKind::commit_cut_before:
        case FaultKind::commit_cut_inside_request:
        case FaultKind::commit_cut_after:
        case FaultKind::commit_cut_inside_answer: arm_commit(fault.kind); return false;
        case FaultKind::cut_at_byte:
            byte_cut_ = proxy_->cuts();
            proxy_->cut_at(fault.number % 2 == 0 ? support::CuttingProxy::Direction::to_server
                                                 : support::CuttingProxy::Direction::to_client,
                           fault.number);
            close_socket(socket());
            return false;
        case FaultKind::terminated: return scene_.terminate(worker_->connection().pid());
        case FaultKind::killed:
            close_socket(socket());
            if (fault.number % 2 == 0) scene_.board.rebalance();
            scene_.count(fault.kind);
            killed_ = true;
            throw Killed{};
        case FaultKind::killed_left_open:
            left_open_.push_back(leave_socket_open(socket()));
            if (fault.number % 2 == 0) scene_.board.rebalance();
            scene_.count(fault.kind);
            killed_ = true;
            throw Killed{};
        case FaultKind::frozen: freeze(step); return true;
        case FaultKind::reassigned:
        case FaultKind::stolen_fence:
        case FaultKind::dropped_batch:
        case FaultKind::swallowed_in_sink:
        case FaultKind::swallowed_at_commit:
        case FaultKind::passing_error:
        case FaultKind::lock_time_out: return fire_in_transaction(fault);
        case FaultKind::server_killed:
        case FaultKind::failed_over: return false;  // nobody's in particular
    }
    return false;
}

bool Member::fire_in_transaction(const PlannedFault& fault) {
    const int workers = scene_.plan.workers;
    const auto any_of_mine = [&] {
        const std::set<int> mine = scene_.board.of(number_).partitions;
        if (mine.empty()) return -1;
        return *std::next(mine.begin(), static_cast<long>(fault.number % mine.size()));
    };
    if (fault.kind == FaultKind::reassigned) {
        const int partition = any_of_mine();
        if (partition < 0 || workers < 2) return false;
        const int further = 1 + static_cast<int>(fault.number % static_cast<unsigned>(workers - 1));
        scene_.board.move(partition, (number_ + further) % workers);
        return true;
    }
    if (fault.kind == FaultKind::stolen_fence) {
        const int partition = any_of_mine();
        return partition >= 0 && scene_.steal(partition);
    }
    if (fault.kind == FaultKind::dropped_batch) {
        drop_next_ = true;
        return false;
    }
    if (fault.kind == FaultKind::swallowed_in_sink) {
        sink_.swallow_once([this] { scene_.count(FaultKind::swallowed_in_sink); });
        return false;
    }
    if (fault.kind == FaultKind::swallowed_at_commit) {
        // In a round trip of all statements COMMIT is under way already.
        if (PQpipelineStatus(worker_->connection().raw()) != PQ_PIPELINE_OFF) return false;
        try {
            worker_->connection().execute("SELECT 1 / 0");
        } catch (const PostgresError&) {
            look_at_next_ = true;
        }
        return true;
    }
    if (fault.kind == FaultKind::passing_error) {
        const std::string_view state = passing_states[fault.number % std::size(passing_states)];
        sink_.fail_once(std::string(state), [this, state] {
            if (state == "40P01") ++injected_deadlocks_;
            scene_.count(FaultKind::passing_error);
        });
        return false;
    }
    return scene_.lock_sink();
}

void Member::freeze(Step step) {
    const std::uint64_t before = scene_.board.takes_of_others(number_);
    scene_.board.move_all(number_);
    if (scene_.board.wait_overtaken(number_, before, longest_freeze)) {
        scene_.count("woken_when_overtaken");
    }
    scene_.log(name_ + " woke at " + std::string(to_text(step)));
}

void Member::arm_commit(FaultKind kind) {
    armed_commit_ = static_cast<int>(kind);
    look_at_next_ = true;
}

// On the proxy's thread.
CommitFault Member::commit_arrived(const support::ProxiedCommit&) {
    const int armed = armed_commit_.exchange(-1);
    if (armed < 0) return CommitFault::none;
    const auto kind = static_cast<FaultKind>(armed);
    scene_.count(kind);
    return commit_fault(kind);
}

}  // namespace onceward::campaign::core
