#include "dedup/claims/log/log_places.h"

#include <map>
#include <set>

#include "dedup/claims/claim_places.h"
#include "dedup/claims/log/log_reader.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using Batches = std::multimap<std::int64_t, std::size_t>;

std::set<std::int64_t> segments_of(Transaction& transaction, int ledger) {
    std::set<std::int64_t> segments;
    const QueryResult rows =
        transaction.prepared(sql::log_state, Parameters{}.integer(ledger).null().null(), {}, true);
    for (int row = 0; row < rows.rows(); ++row) {
        if (!rows.is_null(row, 3)) segments.insert(rows.binary_integer(row, 2));
    }
    return segments;
}

void ask_batches(Transaction& transaction, const std::string& table, const Batches& claims,
                 ClaimPlaces& places) {
    std::vector<std::int64_t> seqs;
    for (const auto& [seq, claim] : claims) seqs.push_back(seq);
    places.take_batches(
        transaction.query(sql::log_places, Parameters{}.integers(seqs), {{"table", table}}),
        claims);
}

void ask_segment(Transaction& transaction, const std::string& ending, std::span<const Claim> claims,
                 const ClaimPlaces::Parts& asked, ClaimPlaces& places) {
    std::set<Digest> digests;
    for (const auto& [claim, part] : asked) digests.insert(claims[claim].digest);
    const bool whole = asked.begin()->second == 0;
    places.take_parts(
        transaction.query(whole ? sql::explain_segment_claim : sql::explain_parts_claim,
                          Parameters{}.digests(std::vector(digests.begin(), digests.end())),
                          {{"table", ending}}),
        asked);
}

}  // namespace

std::vector<std::vector<ClaimPlace>> log_places(Transaction& transaction, int ledger,
                                                std::span<const Claim> claims,
                                                std::span<const WantedPlace> wanted) {
    std::map<std::int64_t, Batches> batches;
    std::map<std::int64_t, ClaimPlaces::Parts> parts;
    for (const auto& [claim, at] : wanted) {
        if (at.seq > 0) {
            batches[at.generation].emplace(at.seq, claim);
        } else {
            parts[at.generation].emplace(claim, at.part);
        }
    }
    ClaimPlaces places(claims);
    const std::string begin = std::to_string(ledger) + "_";
    try {
        // The log of a generation that has become a segment is dropped; its batches are kept.
        const std::set<std::int64_t> segments = segments_of(transaction, ledger);
        for (const auto& [generation, seqs] : batches) {
            const std::string kept = segments.contains(generation) ? "batches_" : "claims_";
            ask_batches(transaction, kept + begin + std::to_string(generation), seqs, places);
        }
        for (const auto& [generation, asked] : parts) {
            ask_segment(transaction, begin + std::to_string(generation), claims, asked, places);
        }
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        try_again("a generation was dropped, or became a segment, during the read");
    }
    return std::move(places.all);
}

}  // namespace onceward
