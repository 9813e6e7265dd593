#include "dedup/retention/segment_writer.h"

#include <algorithm>
#include <stdexcept>

#include "dedup/base/expects.h"
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
        // No block has claims of two parts.
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

void take_claims(const QueryResult& rows, int row, const PartExtent& part,
                 const FilterRange& filters, std::int64_t later, std::vector<SealedClaim>& claims) {
    const LogBatch found = batch_in(rows, row, 0, 0, 2);
    const std::string_view batches = rows.text(row, 1);
    // DANGER: a claim without its batch would be missing from one list only, and the claims after
    // it would get the batches of others.
    if (batches.size() != 4 * found.digests.size()) {
        throw std::logic_error("a claim is in none of its generation's batches");
    }
    for (std::size_t i = 0; i < found.digests.size(); ++i) {
        // A block may begin before these filters or end after them.
        const int filter = onceward::filter_of(part, found.digests[i]);
        if (filter < filters.begin || filter >= filters.end) continue;
        const std::int64_t batch = binary::get32(batches.substr(4 * i)) + later;
        claims.push_back({found.digests[i], found.packed(i), static_cast<std::uint32_t>(batch),
                          part.number});
    }
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
    // DANGER: a claim that no filter knows is in its block and never found.
    expects(claims.empty(), "the claims of a part of a segment are those of its filters");
    transaction.commit();
}

}  // namespace onceward
