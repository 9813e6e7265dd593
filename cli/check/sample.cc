#include "cli/check/sample.h"

#include <algorithm>
#include <iterator>

#include "cli/check/topic_sample.h"
#include "cli/composition/composition.h"
#include "cli/operator/broker_view.h"
#include "consumer/intake/message_builder.h"
#include "consumer/kafka/range_reader.h"
#include "dedup/operator/interventions.h"

namespace onceward {
namespace {

KnownClaims known_claims(Connection& connection, const std::string& ledger,
                         const std::vector<Digest>& digests) {
    KnownClaims known;
    const auto found = [&](const QueryResult& generations, int row, const QueryResult& claims) {
        const bool has_ranges = generations.text(row, 5) != "table";
        for (int at = 0; at < claims.rows(); ++at) {
            known.emplace(
                claims.text(at, 0),
                KnownClaim{std::string(claims.optional_text(at, 3).value_or("?")),
                           claims.integer(at, 4), claims.integer(at, 5),
                           claims.integer(at, has_ranges ? 6 : 5), std::string(claims.text(at, 1)),
                           std::string(claims.optional_text(at, has_ranges ? 7 : 6).value_or(""))});
        }
    };
    search_claims(connection, ledger, digests, [&] { known.clear(); }, found);
    return known;
}

SampledRecord describe(const std::string& topic, const Message& message) {
    SampledRecord record;
    record.topic = topic;
    record.partition = message.record.partition.raw();
    record.offset = message.record.offset.raw();
    if (message.rejection) {
        record.outcome = "rejected";
        record.reason =
            std::string(to_text(message.rejection->kind)) + ": " + message.rejection->reason;
    } else if (message.skipped) {
        record.outcome = "skipped";
        record.reason = message.skip_reason;
    } else {
        record.outcome = "applied";
        record.digest = uuid_text(message.digest);
        if (message.fingerprint) record.fingerprint = uuid_text(*message.fingerprint);
    }
    return record;
}

// With `reach: partition` a key in two partitions means that producers broke their promise.
void report_spread(const TopicConfiguration& topic, const SpreadKeys& spread,
                   ConnectResult& result) {
    if (spread.in_partitions == 0) {
        result.good.push_back("reach of topic " + topic.name + ": none of " +
                              std::to_string(spread.keys) +
                              " sampled keys was seen in two partitions");
        return;
    }
    result.warning(
        topic.reach_mark, topic.path + ".ledger.reach",
        std::to_string(spread.in_partitions) + " of " + std::to_string(spread.keys) +
            " sampled keys were seen in two partitions or more (one at " + spread.example +
            "): with `reach: partition` such a key takes effect once in each. Write `reach: "
            "global`, or let the producers key the record by the idempotency key.");
}

void sample_topic(const Configuration& configuration, const TopicConfiguration& topic,
                  const Registries& registries, Connection& connection, BrokerView& log,
                  RangeReader& sampler, int count, Sample& sample) {
    const Reach reach = configuration.ledgers.at(topic.ledger).reach;
    const std::unique_ptr<Sink> sink = make_sink(topic);
    MessageBuilder intake({configuration.group, topic.name, topic.format, topic.key,
                           patient(registry_of(registries, topic))},
                          *sink);
    intake.set_topic_id(log.queries().identity(topic.name).topic_id);
    sink->prepare(connection);
    Chunk chunk;
    for (Record& record : sampler.read(newest_stretches(log, topic.name, count), sample_patience)) {
        take_now(intake, std::move(record), chunk);
    }
    std::vector<SampledRecord> records;
    std::vector<Digest> digests;
    for (const Message& message : chunk.messages) {
        records.push_back(describe(topic.name, message));
        if (!records.back().digest.empty()) digests.push_back(message.digest);
    }
    const KnownClaims known = known_claims(connection, topic.ledger, digests);
    find_duplicates(records, known, reach);
    if (reach == Reach::partition) {
        report_spread(topic, find_spread_keys(records, known), sample.spread);
    }
    std::ranges::move(records, std::back_inserter(sample.records));
}

}  // namespace

Sample sample_records(const Configuration& configuration, int count) {
    Connection connection(configuration.postgres);
    BrokerView log(configuration.kafka);
    RangeReader sampler(configuration.kafka);
    const Registries registries = make_registries(configuration);
    Sample sample;
    for (const TopicConfiguration& topic : configuration.topics) {
        sample_topic(configuration, topic, registries, connection, log, sampler, count, sample);
    }
    return sample;
}

}  // namespace onceward
