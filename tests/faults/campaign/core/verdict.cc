#include "tests/faults/campaign/core/verdict.h"

#include "tests/faults/campaign/core/trace.h"
#include "tests/faults/checker/checks.h"
#include "tests/faults/checker/load_postgres.h"
#include "tests/support/citus.h"

namespace onceward::campaign::core {
namespace {

checker::Evidence evidence_of(const Scene& scene, const SeedSchema& schema) {
    checker::Evidence evidence;
    if (scene.plan.rotate_claims > 0) evidence.settings.retention_us = 0;
    evidence.settings.failed_over = scene.plan.server == ServerKind::replicated;
    checker::TopicSettings topic;
    topic.name = topic_name;
    topic.ledger = ledger_name;
    topic.fingerprints = scene.plan.fingerprints;
    topic.without_key = checker::Policy::skip;
    evidence.topics.push_back(std::move(topic));
    evidence.produced = scene.workload.sent();
    std::map<checker::PartitionName, std::int64_t> ends;
    const support::ScriptedLog& log = scene.workload.log();
    for (int partition = 0; partition < scene.plan.partitions; ++partition) {
        ends[{0, partition}] = log.end(partition).raw();
    }
    evidence.log = checker::log_of(evidence.produced, ends);

    checker::DatabaseSource source;
    source.dsn = schema.server().dsn;
    source.schema = schema.name();
    source.consumer_group = consumer_group;
    checker::SinkTable sink;
    sink.topic = topic_name;
    sink.table = schema.effects();
    sink.key = "key";
    if (support::on_citus()) sink.transaction = "transaction";
    source.sinks.push_back(std::move(sink));
    checker::load_database(source, evidence);

    for (const checker::DeadLetter& letter : evidence.dead_letters) {
        const auto& entries = log.entries(letter.place.partition);
        const auto entry = entries.find(letter.place.offset);
        if (entry == entries.end()) continue;
        evidence.contents[letter.place] = {entry->second.key, entry->second.payload, {}};
    }
    for (const auto& [partition, offset] : scene.committed_offsets()) {
        evidence.committed.push_back({{0, partition}, offset});
    }
    return evidence;
}

// Where nothing was lost by a fail-over the fences hold at least what was acknowledged (I16).
void check_acknowledged(const checker::Evidence& evidence, const Totals& acknowledged,
                        SeedResult& result) {
    if (evidence.settings.failed_over) return;
    checker::Totals durable;
    for (const checker::Fence& fence : evidence.fences) {
        durable.applied += fence.totals.applied;
        durable.duplicates += fence.totals.duplicates;
    }
    if (acknowledged.applied > durable.applied || acknowledged.duplicates > durable.duplicates) {
        result.violations.push_back(
            "I16: the workers were told of " + std::to_string(acknowledged.applied) +
            " applied and " + std::to_string(acknowledged.duplicates) +
            " duplicates, the fences hold " + std::to_string(durable.applied) + " and " +
            std::to_string(durable.duplicates));
    }
}

}  // namespace

void judge_seed(const Scene& scene, const SeedSchema& schema, const Totals& acknowledged,
                SeedResult& result, std::ostream& trace) {
    const checker::Evidence evidence = evidence_of(scene, schema);
    const checker::Verdict verdict = checker::judge(evidence);
    write_trace(evidence, trace);
    result.messages = verdict.numbers.messages;
    result.duplicates = verdict.numbers.duplicates;
    result.lost = verdict.numbers.lost;
    result.twice = verdict.numbers.twice;
    for (const checker::Violation& violation : verdict.violations) {
        std::string text = violation.invariant + ": " + violation.text;
        for (const std::string& where : violation.where) text += "; " + where;
        result.violations.push_back(std::move(text));
    }
    for (const std::string& problem : verdict.problems) {
        result.violations.push_back("no evidence: " + problem);
    }
    check_acknowledged(evidence, acknowledged, result);
}

}  // namespace onceward::campaign::core
