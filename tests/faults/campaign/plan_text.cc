#include <sstream>

#include "tests/faults/campaign/plan.h"
#include "tests/faults/step_names.h"

namespace onceward::campaign {
namespace {

std::string_view name_of(PayloadFormat format) {
    switch (format) {
        case PayloadFormat::json: return "json";
        case PayloadFormat::protobuf: return "protobuf";
        case PayloadFormat::raw: return "raw";
    }
    return "";
}

std::string_view name_of(Policy policy) {
    switch (policy) {
        case Policy::reject: return "reject";
        case Policy::derive: return "derive";
        case Policy::skip: return "skip";
    }
    return "";
}

std::string_view name_of(KeyPlace key) {
    switch (key) {
        case KeyPlace::header: return "header";
        case KeyPlace::record_key: return "record key";
        case KeyPlace::field: return "field";
    }
    return "";
}

std::string_view name_of(Repeats repeats) {
    switch (repeats) {
        case Repeats::any: return "any";
        case Repeats::hot: return "hot";
        case Repeats::recent: return "recent";
        case Repeats::mirrored: return "mirrored";
    }
    return "";
}

std::string_view name_of(Assignor assignor) {
    switch (assignor) {
        case Assignor::eager: return "eager";
        case Assignor::cooperative: return "cooperative";
        case Assignor::consumer_protocol: return "consumer protocol";
    }
    return "";
}

std::string_view text_of(Outside outside) {
    switch (outside) {
        case Outside::nothing: return "";
        case Outside::webhook: return "each effect is a call, under a lease\n";
        case Outside::outbox: return "each effect is published as well, through the outbox\n";
        case Outside::http: return "requests come to routes of the workers as well\n";
    }
    return "";
}

std::string_view text_of(Trial trial) {
    switch (trial) {
        case Trial::nothing: return "";
        case Trial::schema_changes: return "the sinks' tables are changed under load\n";
        case Trial::own_codes: return "the sinks raise codes of their own\n";
        case Trial::disk_full: return "PostgreSQL's tables are on a small disk\n";
        case Trial::restore: return "PostgreSQL is restored from a copy of before\n";
        case Trial::operators: return "an operator uses the commands\n";
        case Trial::trouble: return "of several topics one is in trouble\n";
        case Trial::group_errors: return "the broker answers the group with error codes\n";
        case Trial::clocks: return "clocks are set\n";
        case Trial::leader_moves: return "of three brokers each leaves, during transactions\n";
        case Trial::reach: return "a ledger reaches one partition\n";
    }
    return "";
}

std::string text_of(const RequestPlan& requests) {
    if (requests.clients == 0) return "";
    return "requests: of " + std::to_string(requests.clients) + " clients, " +
           std::to_string(requests.shared) + " % under keys of several, " +
           std::to_string(requests.other_bodies) + " % with another body\n";
}

}  // namespace

std::string_view name_of(Outside outside) {
    switch (outside) {
        case Outside::nothing: return "";
        case Outside::outbox: return "outbox";
        case Outside::webhook: return "webhook";
        case Outside::http: return "http";
    }
    return "";
}

std::string_view name_of(Trial trial) {
    switch (trial) {
        case Trial::nothing: return "";
        case Trial::schema_changes: return "schema_changes";
        case Trial::own_codes: return "own_codes";
        case Trial::disk_full: return "disk_full";
        case Trial::restore: return "restore";
        case Trial::operators: return "operators";
        case Trial::trouble: return "trouble";
        case Trial::group_errors: return "group_errors";
        case Trial::clocks: return "clocks";
        case Trial::leader_moves: return "leader_moves";
        case Trial::reach: return "reach";
    }
    return "";
}

std::string to_text(const Plan& plan) {
    std::ostringstream text;
    const WorkloadPlan& workload = plan.workload;
    text << "seed " << plan.seed << "\n";
    for (const TopicPlan& topic : workload.topics)
        text << "topic: " << topic.partitions << " partitions, " << name_of(topic.format)
             << ", without a key: " << name_of(topic.on_missing)
             << ", tombstones: " << name_of(topic.tombstones)
             << (topic.unnest ? ", unnest" : ", copy") << "\n";
    text << "messages: " << workload.messages << " in portions of " << workload.portion
         << ", key in the " << name_of(workload.key)
         << (workload.one_operation ? ", one operation" : "") << "\n"
         << "of 1000: " << workload.repeated << " repeated (" << name_of(workload.repeats) << "), "
         << workload.undecodable << " undecodable, " << workload.refused << " refused, "
         << workload.keyless << " without a key, " << workload.tombstones << " tombstones\n"
         << "transactions: " << workload.transactions << " % of the portions, " << workload.aborted
         << " % of them aborted\n"
         << "ledger: retention " << plan.ledger.retention.count() << " ms, rotated after "
         << plan.ledger.rotate_after.count() << " ms or " << plan.ledger.rotate_claims
         << " claims, kept as a " << (plan.ledger.log        ? "log"
                                     : plan.ledger.converts ? "table that becomes a log"
                                                            : "table")
         << "\n"
         << "fleet: " << plan.fleet.processes << " processes of " << plan.fleet.workers
         << " workers, " << name_of(plan.fleet.assignor)
         << (plan.fleet.static_members ? ", static members" : "") << ", batches of "
         << plan.fleet.batch_messages << (plan.standby ? "; PostgreSQL with a standby" : "") << "\n"
         << text_of(plan.outside) << text_of(plan.requests) << text_of(plan.trial)
         << "faults: " << plan.faults.size() << " within " << plan.fault_phase.count() << " ms\n";
    for (const FaultPlan& fault : plan.faults) {
        text << "  at " << fault.at.count() << " ms " << campaign::name_of(fault.kind) << " for "
             << fault.lasts.count() << " ms, target " << fault.target << ", amount "
             << fault.amount;
        if (fault.kind == FaultKind::kill_at_step || fault.kind == FaultKind::freeze_at_step)
            text << ", " << name_of_step(fault.step);
        text << "\n";
    }
    return text.str();
}

}  // namespace onceward::campaign
