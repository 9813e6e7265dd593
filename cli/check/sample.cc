#include "cli/check/sample.h"

#include <algorithm>
#include <map>

#include "cli/compose.h"
#include "cli/log_view.h"
#include "consumer/intake.h"
#include "consumer/sampler.h"
#include "dedup/explain_statement.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::chrono::seconds read_limit{30};

std::string place(std::string_view topic, std::int64_t partition, std::int64_t offset) {
    return std::string(topic) + "/" + std::to_string(partition) + "@" + std::to_string(offset);
}

// Where a claim came from and when. A log knows the first and the last offset of a batch in each of
// its partitions; elsewhere they are the same.
struct KnownClaim {
    std::string topic;
    std::int64_t partition = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::string time;
    bool may_be(const SampledRecord& record) const {
        return record.topic == topic && record.partition == partition && record.offset >= first &&
               record.offset <= last;
    }
    std::string text() const {
        return place(topic, partition, first) + (last > first ? "-" + std::to_string(last) : "");
    }
};
// By the digest as PostgreSQL prints it.
using KnownClaims = std::multimap<std::string, KnownClaim, std::less<>>;

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
        const bool has_ranges = generations.text(row, 5) != "table";
        const Result claims =
            connection.query(explain_statement(generations.text(row, 5)),
                             Parameters{}.digests(digests), {{"table", generations.text(row, 4)}});
        for (int found = 0; found < claims.rows(); ++found) {
            known.emplace(claims.text(found, 0),
                          KnownClaim{std::string(claims.optional_text(found, 3).value_or("?")),
                                     claims.integer(found, 4), claims.integer(found, 5),
                                     claims.integer(found, has_ranges ? 6 : 5),
                                     std::string(claims.text(found, 1))});
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
        const auto [claim, claims_end] = known.equal_range(record.digest);
        const auto [first, is_first] = seen.emplace(record.digest, here);
        if (claim != claims_end) {
            const bool itself = std::any_of(
                claim, claims_end, [&](const auto& entry) { return entry.second.may_be(record); });
            record.outcome = itself ? "known" : "duplicate";
            record.reason =
                itself ? "applied at " + claim->second.time
                       : "of " + claim->second.text() + ", applied at " + claim->second.time;
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
