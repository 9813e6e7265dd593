// Faults of the whole server: a full disk, and a restore of an older copy.
#include "tests/faults/campaign/injector.h"
#include "tests/faults/campaign/request_log.h"
#include "tests/faults/campaign/server_log.h"

namespace onceward::campaign {

using namespace std::chrono_literals;

namespace {

constexpr milliseconds look_again{250};
constexpr std::uint32_t most_looks = 24;

}  // namespace

void Injector::fill_disk(const FaultPlan& fault) {
    SmallDisk* disk = parts_.disk;
    if (disk == nullptr) {
        parts_.tally.nothing(fault.kind, "there is no small disk: mounting is not allowed here");
        return;
    }
    const std::filesystem::path log = parts_.stage.postgres().log();
    const std::uintmax_t from = std::filesystem::file_size(log);
    disk->fill();
    go_on(fault, [this, fault, disk, log, from] {
        disk->clear();
        count(fault, a_worker_was_told(log, from, "No space left on device"),
              "no worker needed room");
    });
}

bool Injector::every_partition_has_a_fence() {
    int partitions = 0;
    for (std::size_t topic = 0; topic < parts_.names.topics.size(); ++topic)
        partitions += parts_.feeder.partitions(topic);
    return session()->number("SELECT count(*) FROM " + parts_.names.schema + ".fences") >=
           partitions;
}

// As with a fail-over, a fence that the copy lacks would leave only Kafka's offset.
void Injector::restore_server(const FaultPlan& fault) {
    const bool ready = parts_.stage.postgres().running() && !another_is_on(FaultKind::read_only) &&
                       every_partition_has_a_fence();
    if (!ready) {
        if (fault.amount > most_looks) {
            parts_.tally.nothing(fault.kind, "no whole copy could be taken");
            return;
        }
        FaultPlan later = fault;
        ++later.amount;
        later.lasts = look_again;
        go_on(later, [this, later, lasts = fault.lasts] {
            FaultPlan again = later;
            again.lasts = lasts;
            begin(again);
        });
        return;
    }
    const std::int64_t from = microseconds_now();
    parts_.stage.take_copy();
    parts_.tally.write("restore: a copy of the server was taken");
    go_on(fault, [this, fault, from] {
        parts_.before_fail_over();
        failed_over_ = true;
        lost_ = {from, 0};
        parts_.stage.restore_copy();
        lost_.to_us = microseconds_now();
        parts_.tally.count(fault.kind);
    });
}

}  // namespace onceward::campaign
