#include "dedup/retention/segment_writer.h"

#include <algorithm>
#include <stdexcept>

#include "dedup/claims/log/log_batch.h"
#include "dedup/postgres/binary.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::size_t claims_at_once = 100'000;
constexpr std::int64_t most_claims_of_exact_filters = 10'000'000;

// Part 0 is the whole segment, and the only one; else they are numbered from 1.
bool in_parts(std::span<const PartExtent> parts) { return parts.empty() || parts[0].number > 0; }

int filter_of(std::span<const PartExtent> parts, const SealedClaim& claim) {
    const std::size_t part = claim.part == 0 ? 0 : static_cast<std::size_t>(claim.part - 1);
    return onceward::filter_of(parts[part], claim.digest);
}

void write_blocks(Transaction& transaction, const Connection::Names& names, bool of_parts,
                  std::span<const SealedClaim> claims) {
    transaction.copy_begin(of_parts ? sql::segment_copy_of_partitions : sql::segment_copy, names);
    transaction.copy_send(binary::copy_header);
    constexpr std::size_t step = claims_at_once / block_digests * block_digests;
    while (!claims.empty()) {
        // No block is of two parts.
        const auto next =
            std::ranges::upper_bound(claims, claims.front().part, {}, &SealedClaim::part);
        const auto count =
            std::min<std::size_t>(step, static_cast<std::size_t>(next - claims.begin()));
        transaction.copy_send(block_rows(claims.first(count)));
        claims = claims.subspan(count);
    }
    transaction.copy_send(binary::copy_trailer);
    transaction.copy_end();
}

}  // namespace

FilterKind kind_for(std::int64_t claims) {
    return claims > most_claims_of_exact_filters ? FilterKind::narrow : FilterKind::exact;
}

std::int64_t claims_in(std::span<const PartExtent> parts) {
    std::int64_t claims = 0;
    for (const PartExtent& part : parts) claims += part.claims;
    return claims;
}

std::vector<SealedClaim> room_for(const FilterRange& filters) {
    std::vector<SealedClaim> claims;
    claims.reserve(static_cast<std::size_t>(filters.claims + filters.claims / 8 + 1024));
    return claims;
}

ClaimsOfRow::ClaimsOfRow(const QueryResult& rows, int row, int first, Batches batches)
    : digests_(digests_in(rows.text(row, first))) {
    int fingerprints = first + 1;
    if (batches == Batches::each) {
        batches_ = rows.text(row, first + 1);
        fingerprints = first + 2;
        // DANGER: a claim without its batch would be left out of one list alone, and the claims
        // after it would get the batches of others.
        if (batches_.size() != 4 * digests_.size()) {
            throw std::logic_error("a claim is in none of its generation's batches");
        }
    }
    if (!rows.is_null(row, fingerprints)) fingerprints_ = digests_in(rows.text(row, fingerprints));
}

SealedClaim ClaimsOfRow::claim(std::size_t place, std::int64_t batch, std::int32_t part) const {
    if (!batches_.empty()) batch += binary::get32(batches_.substr(4 * place));
    return {digests_[place],
            fingerprints_.empty() ? packed_fingerprint(std::nullopt) : fingerprints_[place],
            static_cast<std::uint32_t>(batch), part};
}

void write_segment(Connection& connection, const Connection::Names& names,
                   std::span<const PartExtent> parts, const FilterRange& filters,
                   std::span<const SealedClaim> claims, FilterKind kind) {
    OwnedTransaction transaction(connection);
    write_blocks(transaction, names, in_parts(parts), claims);
    // Sorted by part and digest, the claims are in the order of the filters.
    std::vector<Digest> digests;
    for (int filter = filters.begin; filter < filters.end; ++filter) {
        digests.clear();
        while (!claims.empty() && filter_of(parts, claims.front()) == filter) {
            digests.push_back(claims.front().digest);
            claims = claims.subspan(1);
        }
        transaction.query(sql::segment_filter_insert,
                          Parameters{filter}.bytes(FuseFilter(digests, kind).stored()), names);
    }
    transaction.commit();
}

}  // namespace onceward
