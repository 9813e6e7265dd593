#include "cli/check/sample.h"

#include <algorithm>
#include <map>

#include "cli/compose.h"
#include "cli/log_view.h"
#include "consumer/intake.h"
#include "consumer/sampler.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::chrono::seconds read_limit{30};

// Where a claim came from and when, by the digest as PostgreSQL prints it.
struct KnownClaim {
    std::string place;  // `topic/partition@offset`
    std::string time;
};
using KnownClaims = std::map<std::string, KnownClaim, std::less<>>;

std::string place(std::string_view topic, std::int64_t partition, std::int64_t offset) {
    return std::string(topic) + "/" + std::to_string(partition) + "@" + std::to_string(offset);
}

// The newest `count` records, as evenly as can be from all partitions.
std::vector<Stretch> newest(LogView& log, const std::string& topic, int count) {
    const int partitions = log.partition_count(topic);
    std::vector<Stretch> stretches;
    int left = count;
    for (int number = 0; number < partitions && left > 0; ++number) {
        const TopicPartition partition{topic, Partition{number}};
        const KafkaSource::Range range = log.range(partition);
        const int share = (left + partitions - number - 1) / (partitions - number);
        const Offset begin{std::max(range.earliest.raw(), range.latest.raw() - share)};
        stretches.push_back({partition, begin, range.latest});
        left -= static_cast<int>(range.latest.raw() - begin.raw());
    }
    return stretches;
}

KnownClaims known_claims(Connection& connection, const std::string& ledger,
                         const std::vector<Digest>& digests) {
    KnownClaims known;
    const Result generations = connection.query(sql::explain_generations, {});
    for (int row = 0; row < generations.rows(); ++row) {
        if (generations.text(row, 0) != ledger) continue;
        const Result claims = connection.query(sql::explain_claim, Parameters{}.digests(digests),
                                               {{"table", generations.text(row, 4)}});
        for (int found = 0; found < claims.rows(); ++found) {
            known[std::string(claims.text(found, 0))] = {
                place(claims.optional_text(found, 3).value_or("?"), claims.integer(found, 4),
                      claims.integer(found, 5)),
                std::string(claims.text(found, 1))};
        }
    }
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
    }
    return record;
}

// Finds the duplicates among those that would be applied: of claims, and of each other.
void find_duplicates(std::vector<SampledRecord>& records, const KnownClaims& known) {
    std::map<std::string, std::string> seen;
    for (SampledRecord& record : records) {
        if (record.digest.empty()) continue;
        const std::string here = place(record.topic, record.partition, record.offset);
        const auto claim = known.find(record.digest);
        const auto [first, is_first] = seen.emplace(record.digest, here);
        if (claim != known.end()) {
            const bool itself = claim->second.place == here;
            record.outcome = itself ? "known" : "duplicate";
            record.reason =
                itself ? "applied at " + claim->second.time
                       : "of " + claim->second.place + ", applied at " + claim->second.time;
        } else if (!is_first) {
            record.outcome = "duplicate";
            record.reason = "of " + first->second + " in this sample";
        }
    }
}

std::vector<SampledRecord> sample_topic(const Configuration& configuration,
                                        const TopicConfiguration& topic, Connection& connection,
                                        LogView& log, Sampler& sampler, int count) {
    const std::unique_ptr<Sink> sink = make_sink(topic.sink);
    Intake intake({configuration.group, topic.name, topic.format, topic.key}, *sink);
    intake.set_topic_id(log.topic_id(topic.name));
    sink->prepare(connection);
    Chunk chunk;
    for (Record& record : sampler.read(newest(log, topic.name, count), read_limit)) {
        intake.take(std::move(record), chunk);
    }
    std::vector<SampledRecord> records;
    std::vector<Digest> digests;
    for (const Message& message : chunk.messages) {
        records.push_back(describe(topic.name, message));
        if (!records.back().digest.empty()) digests.push_back(message.digest);
    }
    find_duplicates(records, known_claims(connection, topic.ledger, digests));
    return records;
}

}  // namespace

std::vector<SampledRecord> sample_records(const Configuration& configuration, int count) {
    Connection connection(configuration.postgres);
    LogView log(configuration.kafka);
    Sampler sampler(configuration.kafka);
    std::vector<SampledRecord> all;
    for (const TopicConfiguration& topic : configuration.topics) {
        auto records = sample_topic(configuration, topic, connection, log, sampler, count);
        std::move(records.begin(), records.end(), std::back_inserter(all));
    }
    return all;
}

}  // namespace onceward
