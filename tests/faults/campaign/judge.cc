#include "tests/faults/campaign/judge.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lab/embedded/child_process.h"
#include "tests/faults/campaign/message_source.h"

namespace onceward::campaign {
namespace {

constexpr milliseconds checker_limit{120'000};

std::string name_of(Policy policy) {
    switch (policy) {
        case Policy::reject: return "reject";
        case Policy::derive: return "derive";
        case Policy::skip: return "skip";
    }
    return "";
}

// When topics were in trouble, and from when on they make no progress.
void add_times(nlohmann::json& complete, const Names& names, const Judged& judged) {
    for (const Injector::TopicTime& trouble : judged.troubles)
        complete["troubles"].push_back({{"topic", names.topics[trouble.topic]},
                                        {"from_us", trouble.from_us},
                                        {"to_us", trouble.to_us}});
    for (const Judged::Halted& halted : judged.halted) {
        const std::string& topic = names.topics[halted.since.topic];
        complete["standstills"].push_back({{"topic", topic}, {"from_us", halted.since.from_us}});
        for (int partition = 0; partition < halted.partitions; ++partition)
            complete["halted"].push_back(
                {{"topic", topic}, {"partition", partition}, {"said", halted.said}});
    }
}

}  // namespace

void write_scene(const Plan& plan, const Names& names, const Stage& stage, const Judged& judged) {
    using nlohmann::json;
    json sinks = json::array();
    json topics = json::array();
    for (std::size_t i = 0; i < names.topics.size(); ++i) {
        const TopicPlan& topic = plan.workload.topics[i];
        sinks.push_back({{"topic", names.topics[i]}, {"table", names.table(i)}, {"key", "key"}});
        if (plan.trial == Trial::schema_changes) sinks.back()["transaction"] = written_by;
        json entry{{"name", names.topics[i]},
                   {"tombstones", name_of(topic.tombstones)},
                   {"without_key", name_of(topic.on_missing)},
                   {"key_in_payload", plan.workload.key == KeyPlace::field},
                   {"published", plan.outside == Outside::outbox},
                   {"leases", plan.outside == Outside::webhook}};
        if (plan.workload.one_operation) {
            entry["operation"] = "shared";
            entry["ledger"] = names.group + "-shared";
        }
        if (plan.ledger.per_partition) entry["reach"] = "partition";
        topics.push_back(entry);
    }
    const json scene{
        {"postgres", {{"dsn", stage.direct_dsn()}, {"schema", names.schema}, {"sinks", sinks}}},
        {"kafka",
         {{"bootstrap_servers", stage.direct_bootstrap_servers()},
          {"id_header", id_header},
          // Else the end of each partition is told half a second late.
          {"properties", {{"fetch.wait.max.ms", "20"}}}}},
        {"group", names.group},
        {"produced", "produced.ndjson"},
        {"published", names.published},
        {"topics", topics},
        {"retention_ms", plan.ledger.retention.count()},
        {"failed_over", judged.failed_over},
        {"committed_offset_moved", judged.committed_offset_moved},
        {"rewound", judged.rewound},
        {"secrets", {{"folder", "."}, {"canaries", {stage.canary()}}, {"except", json::array()}}}};
    json complete = scene;
    if (plan.outside == Outside::webhook || plan.outside == Outside::http)
        complete["calls"] = calls_file;
    if (plan.outside == Outside::http)
        complete["requests"] = {{"file", requests_file}, {"table", names.request_table()}};
    if (judged.lost.to_us != 0)
        complete["lost"] = {{"from_us", judged.lost.from_us}, {"to_us", judged.lost.to_us}};
    if (std::filesystem::exists(names.folder / operators_file))
        complete["operators"] = operators_file;
    add_times(complete, names, judged);
    complete["sample"] = {
        {"every_ms", 400},
        // What a fail-over loses of the audit only a look before it has seen.
        {"owners_every", plan.loses_commits() ? 1 : 5},
        // A process that lives for seconds is still opening what it needs. That memory stays flat
        // over an hour is shown by `make soak`.
        {"budgets", {{"rss_kib", 256 * 1024}, {"fds", 64}, {"threads", 40}, {"connections", 40}}}};
    for (int slot = 0; slot < plan.fleet.processes + guest_slots; ++slot)
        complete["secrets"]["except"].push_back("worker-" + std::to_string(slot) + ".yaml");
    complete["secrets"]["except"].push_back("scene.json");
    std::ofstream file(names.folder / "scene.json");
    file << complete.dump(2) << "\n";
    file.flush();
    if (!file) throw std::runtime_error("cannot write the scene for the checker");
}

void run_checker(const Names& names, SeedResult& result) {
    ChildOptions options;
    const std::filesystem::path report = names.folder / "checker.json";
    options.command = {ONCEWARD_CHECKER_EXECUTABLE, (names.folder / "scene.json").string()};
    options.output = report;
    ChildProcess checker(options);
    if (!checker.wait(checker_limit)) throw std::runtime_error("the checker does not end");
    std::ifstream file(report);
    const nlohmann::json verdict = nlohmann::json::parse(file, nullptr, false);
    if (verdict.is_discarded())
        throw std::runtime_error("the checker gave no verdict: " + tail_of(report, 500));
    result.messages = verdict.value("messages", 0);
    result.keys = verdict.value("keys", 0);
    result.duplicates = verdict.value("duplicates", 0);
    result.lost = verdict.value("lost", 0);
    result.twice = verdict.value("twice", 0);
    result.requests = verdict.value("requests", 0);
    for (const nlohmann::json& violation : verdict["violations"])
        result.violations.push_back(
            violation.value("invariant", "?") + ": " + violation.value("text", "") + " (" +
            std::to_string(violation.value("count", 0)) + "): " + violation["where"].dump());
    for (const nlohmann::json& problem : verdict["problems"])
        result.violations.push_back("no verdict: " + problem.get<std::string>());
}

}  // namespace onceward::campaign
