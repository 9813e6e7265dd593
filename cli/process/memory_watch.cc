#include "cli/process/memory_watch.h"

#include "cli/configuration/databases.h"
#include "cli/process/memory_budget.h"
#include "dedup/base/logging.h"
#include "dedup/operator/interventions.h"
#include "dedup/server/server_check.h"

namespace onceward {

MemoryWatch::MemoryWatch(const Configuration& configuration, const WorkerSlots& slots)
    : configuration_(configuration),
      slots_(slots),
      budget_(memory_budget(configuration.memory_budget)) {}

bool MemoryWatch::exceeded() {
    if (exceeded_ || !budget_) return exceeded_;
    resident_ = resident_bytes().value_or(0);
    if (resident_ <= *budget_) return false;
    exceeded_ = true;
    suspect_ = slots_.suspect();
    log_error("memory.budget_exceeded", {{"resident", resident_}, {"budget", *budget_}});
    note_suspect();
    return true;
}

void MemoryWatch::note_suspect() const {
    if (!suspect_) return;
    const TopicPartition& partition = suspect_->partition;
    try {
        Connection connection(database_of(configuration_, partition.topic).postgres);
        check_server(connection);
        const auto offset = onceward::note_suspect(connection, configuration_.group, partition,
                                                   {resident_, *budget_}, suspect_->record);
        if (!offset) return;
        log_error("memory.suspect", {{"topic", partition.topic},
                                     {"partition", partition.partition.raw()},
                                     {"offset", offset->raw()}});
    } catch (const std::exception& error) {  // a ServerRefused too: the process leaves anyway
        log_error("memory.suspect_not_noted", {{"topic", partition.topic},
                                               {"partition", partition.partition.raw()},
                                               {"error", error.what()}});
    }
}

}  // namespace onceward
