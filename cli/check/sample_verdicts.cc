#include <algorithm>

#include "cli/check/sample.h"

namespace onceward {
namespace {

std::string place(const std::string& topic, std::int64_t partition, std::int64_t offset) {
    return topic + "/" + std::to_string(partition) + "@" + std::to_string(offset);
}

std::string place(const SampledRecord& record) {
    return place(record.topic, record.partition, record.offset);
}

std::string place(const KnownClaim& claim) {
    return place(claim.topic, claim.partition, claim.first) +
           (claim.last > claim.first ? "-" + std::to_string(claim.last) : "");
}

std::string partition_text(const std::string& topic, std::int64_t partition) {
    return topic + "/" + std::to_string(partition);
}

bool may_be(const KnownClaim& claim, const SampledRecord& record) {
    return record.topic == claim.topic && record.partition == claim.partition &&
           record.offset >= claim.first && record.offset <= claim.last;
}

// The claims that a worker would find for the record.
std::vector<const KnownClaim*> found_claims(const SampledRecord& record, const KnownClaims& known,
                                            Reach reach) {
    std::vector<const KnownClaim*> found;
    const auto [begin, end] = known.equal_range(record.digest);
    for (auto entry = begin; entry != end; ++entry) {
        const KnownClaim& claim = entry->second;
        const bool here = claim.topic == record.topic && claim.partition == record.partition;
        if (reach == Reach::global || here) found.push_back(&claim);
    }
    return found;
}

std::string repeated(const std::string& fingerprint, const std::string& first) {
    const bool other = !fingerprint.empty() && !first.empty() && fingerprint != first;
    return other ? "conflict" : "duplicate";
}

}  // namespace

void find_duplicates(std::vector<SampledRecord>& records, const KnownClaims& known, Reach reach) {
    std::map<std::pair<std::string, std::string>, const SampledRecord*> seen;
    for (SampledRecord& record : records) {
        if (record.digest.empty()) continue;
        const std::string within =
            reach == Reach::global ? "" : partition_text(record.topic, record.partition);
        const auto [first, is_first] = seen.emplace(std::pair(record.digest, within), &record);
        const std::vector<const KnownClaim*> claims = found_claims(record, known, reach);
        if (!claims.empty()) {
            const auto own = std::ranges::find_if(
                claims, [&](const KnownClaim* claim) { return may_be(*claim, record); });
            const bool itself = own != claims.end();
            const KnownClaim& claim = itself ? **own : *claims.front();
            record.outcome = itself ? "known" : repeated(record.fingerprint, claim.fingerprint);
            record.reason =
                (itself ? "" : "of " + place(claim) + ", ") + "applied at " + claim.time;
        } else if (!is_first) {
            record.outcome = repeated(record.fingerprint, first->second->fingerprint);
            record.reason = "of " + place(*first->second) + " in this sample";
        }
    }
}

SpreadKeys find_spread_keys(const std::vector<SampledRecord>& records, const KnownClaims& known) {
    // For each key its partitions, each with the first place in it.
    std::map<std::string, std::map<std::string, std::string>> seen;
    for (const SampledRecord& record : records) {
        if (record.digest.empty()) continue;
        auto& partitions = seen[record.digest];
        partitions.emplace(partition_text(record.topic, record.partition), place(record));
        const auto [begin, end] = known.equal_range(record.digest);
        for (auto entry = begin; entry != end; ++entry) {
            const KnownClaim& claim = entry->second;
            partitions.emplace(partition_text(claim.topic, claim.partition), place(claim));
        }
    }
    SpreadKeys spread;
    spread.keys = seen.size();
    for (const auto& [digest, partitions] : seen) {
        if (partitions.size() < 2) continue;
        ++spread.in_partitions;
        if (!spread.example.empty()) continue;
        spread.example =
            partitions.begin()->second + " and " + std::next(partitions.begin())->second;
    }
    return spread;
}

}  // namespace onceward
