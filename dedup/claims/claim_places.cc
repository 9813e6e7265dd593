#include "dedup/claims/claim_places.h"

#include "dedup/claims/log_reader.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// Group, topic, partition and offsets from `column` on.
ClaimPlace place_at(const Result& rows, int row, int column, bool has_last) {
    return {std::string(rows.optional_text(row, column).value_or("")),
            std::string(rows.optional_text(row, column + 1).value_or("")),
            Partition{static_cast<std::int32_t>(rows.integer(row, column + 2))},
            Offset{rows.integer(row, column + 3)},
            Offset{rows.integer(row, column + (has_last ? 4 : 3))}};
}

using Batches = std::multimap<std::int64_t, std::size_t>;

std::set<std::int64_t> segments_of(Transaction& transaction, int ledger) {
    std::set<std::int64_t> segments;
    const Result rows =
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

ClaimPlaces::ClaimPlaces(std::span<const Claim> claims) : all(claims.size()) {
    for (std::size_t i = 0; i < claims.size(); ++i) {
        by_digest_.emplace(uuid_text(claims[i].digest), i);
    }
}

void ClaimPlaces::take(const Result& rows) {
    for (int row = 0; row < rows.rows(); ++row) {
        const auto [begin, end] = by_digest_.equal_range(rows.text(row, 0));
        for (auto entry = begin; entry != end; ++entry) {
            all[entry->second].push_back(place_at(rows, row, 2, false));
        }
    }
}

void ClaimPlaces::take_parts(const Result& rows, const Parts& asked) {
    for (int row = 0; row < rows.rows(); ++row) {
        const auto part = static_cast<int>(rows.integer(row, 8));
        const auto [begin, end] = by_digest_.equal_range(rows.text(row, 0));
        for (auto entry = begin; entry != end; ++entry) {
            if (!asked.contains({entry->second, part})) continue;
            all[entry->second].push_back(place_at(rows, row, 2, true));
        }
    }
}

void ClaimPlaces::take_batches(const Result& rows, const Batches& claims) {
    for (int row = 0; row < rows.rows(); ++row) {
        const auto [begin, end] = claims.equal_range(rows.integer(row, 0));
        for (auto entry = begin; entry != end; ++entry) {
            all[entry->second].push_back(place_at(rows, row, 1, true));
        }
    }
}

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
        try_again("a generation was dropped, or became a segment, while we looked");
    }
    return std::move(places.all);
}

}  // namespace onceward
