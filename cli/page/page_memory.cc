#include "cli/page/page_memory.h"

#include <algorithm>

namespace onceward {
namespace {

PageSample sample_of(std::chrono::system_clock::time_point now, const ProcessStatus& status) {
    PageSample sample{.at = now, .totals = status.of_ended_workers.totals()};
    for (const WorkerState& worker : status.workers) {
        if (!worker.status) continue;
        sample.totals += worker.status->counts.totals();
        for (const PartitionStatus& partition : worker.status->lag) {
            sample.lag += std::max<std::int64_t>(partition.lag.value_or(0), 0);
        }
    }
    return sample;
}

// Why the partition is halted; nullptr if it is not.
const Halt* halt_of(const Worker::Status& status, const TopicPartition& partition) {
    const auto found = std::ranges::find(
        status.halted, partition, [](const HaltedPartition& halted) { return halted.partition; });
    return found == status.halted.end() ? nullptr : &found->halt;
}

}  // namespace

std::string_view to_text(PageEvent::Kind kind) {
    switch (kind) {
        case PageEvent::Kind::assigned: return "assigned";
        case PageEvent::Kind::revoked: return "revoked";
        case PageEvent::Kind::halted: return "halted";
        case PageEvent::Kind::moving: return "moving";
        case PageEvent::Kind::worker_ended: return "worker_ended";
    }
    return "";
}

void PageMemory::note(PageEvent event) {
    events_.push_back(std::move(event));
    if (events_.size() <= most_events) return;
    events_.pop_front();
    forgot_events_ = true;
}

void PageMemory::look(std::chrono::system_clock::time_point now, const ProcessStatus& status) {
    if (samples_.empty() || now - samples_.back().at >= sample_every) {
        samples_.push_back(sample_of(now, status));
        if (samples_.size() > most_samples) samples_.pop_front();
    }
    std::map<TopicPartition, Seen> seen;
    for (const WorkerState& worker : status.workers) {
        if (worker.ended != ended_[worker.number] && !worker.ended.empty()) {
            note({now, PageEvent::Kind::worker_ended, worker.number, {}, worker.ended});
        }
        ended_[worker.number] = worker.ended;
        if (!worker.status) continue;
        for (const PartitionStatus& partition : worker.status->lag) {
            const Halt* halt = halt_of(*worker.status, partition.partition);
            seen[partition.partition] = {worker.number, halt != nullptr};
        }
    }
    for (const auto& [partition, before] : seen_) {
        if (!seen.contains(partition)) {
            note({now, PageEvent::Kind::revoked, before.worker, partition});
        }
    }
    for (const auto& [partition, after] : seen) {
        const auto before = seen_.find(partition);
        if (before == seen_.end() || before->second.worker != after.worker) {
            note({now, PageEvent::Kind::assigned, after.worker, partition});
        }
        const bool was_halted = before != seen_.end() && before->second.halted;
        if (was_halted == after.halted) continue;
        if (!after.halted) {
            note({now, PageEvent::Kind::moving, after.worker, partition});
            continue;
        }
        for (const WorkerState& worker : status.workers) {
            if (worker.number != after.worker || !worker.status) continue;
            const Halt* halt = halt_of(*worker.status, partition);
            note({now, PageEvent::Kind::halted, after.worker, partition,
                  std::string(to_text(halt->reason)) + ": " + halt->text});
        }
    }
    seen_ = std::move(seen);
}

}  // namespace onceward
