#include "dedup/sealing.h"

#include <algorithm>

#include "dedup/claims/log_batch.h"
#include "dedup/claims/log_reader.h"
#include "dedup/postgres/binary.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t batches_at_once = 256;
constexpr std::size_t claims_at_once = 100'000;

class Sealing {
  public:
    Sealing(Connection& connection, int ledger, std::int64_t generation,
            const SealingOptions& options)
        : connection_(connection),
          ledger_(ledger),
          generation_(generation),
          names_(ledger, generation),
          options_(options) {}

    SealingReport run() {
        const std::optional<std::int64_t> evictions = begin();
        if (!evictions) return {};
        const Result extent = connection_.query(sql::segment_extent, {}, names_.names());
        const std::int64_t claims = extent.integer(0, 0);
        first_seq_ = extent.integer(0, 1);
        bits_ = shard_bits_for(claims, options_.shard_claims);
        std::int64_t written = 0;
        for (std::size_t shard = 0; shard < std::size_t{1} << bits_; ++shard) {
            std::vector<SealedClaim> part = read(shard, claims >> bits_);
            sort_claims(part);
            write(shard, part);
            written += static_cast<std::int64_t>(part.size());
        }
        OwnedTransaction transaction(connection_);
        transaction.query(sql::segment_copy_batches, {}, names_.names());
        const bool published = transaction
                                   .query(sql::segment_publish, Parameters{}
                                                                    .integer(ledger_)
                                                                    .integer(generation_)
                                                                    .integer(*evictions)
                                                                    .integer(written)
                                                                    .integer(bits_))
                                   .boolean(0, 0);
        if (!published) return {};
        transaction.commit();
        return {true, generation_, written};
    }

  private:
    // Makes the tables anew. The ledger's count of evictions: what is taken out from here on makes
    // the segment worthless.
    std::optional<std::int64_t> begin() {
        OwnedTransaction transaction(connection_);
        const Result row = transaction.query(sql::segment_begin,
                                             Parameters{}.integer(ledger_).integer(generation_));
        std::optional<std::int64_t> evictions;
        if (!row.is_null(0, 0)) evictions = row.integer(0, 0);
        transaction.commit();
        return evictions;
    }

    std::vector<SealedClaim> read(std::size_t shard, std::int64_t about) const {
        std::vector<SealedClaim> claims;
        claims.reserve(static_cast<std::size_t>(about + about / 8 + 1024));
        std::int64_t last = 0;
        while (true) {
            const Result page = connection_.prepared(
                sql::segment_read, Parameters{}.integer(last).integer(batches_at_once),
                names_.names(), true);
            for (int row = 0; row < page.rows(); ++row) {
                last = page.binary_integer(row, 0);
                take(page, row, shard, claims);
            }
            if (page.rows() < batches_at_once) return claims;
        }
    }

    void take(const Result& page, int row, std::size_t shard,
              std::vector<SealedClaim>& claims) const {
        const auto batch = static_cast<std::uint32_t>(page.binary_integer(row, 0) - first_seq_);
        const std::span<const Digest> digests = digests_in(page.text(row, 1));
        const std::span<const Digest> fingerprints =
            page.is_null(row, 2) ? std::span<const Digest>{} : digests_in(page.text(row, 2));
        for (std::size_t i = 0; i < digests.size(); ++i) {
            if (shard_of(digests[i], bits_) != shard) continue;
            claims.push_back(
                {digests[i], fingerprints.empty() ? Digest{} : fingerprints[i], batch});
        }
    }

    void write(std::size_t shard, const std::vector<SealedClaim>& claims) const {
        std::vector<Digest> digests;
        digests.reserve(claims.size());
        for (const SealedClaim& claim : claims) digests.push_back(claim.digest);
        const std::string filter = FuseFilter(digests).stored();
        OwnedTransaction transaction(connection_);
        transaction.copy_begin(sql::segment_copy, names_.names());
        transaction.copy_send(binary::copy_header);
        constexpr std::size_t step = claims_at_once / block_digests * block_digests;
        for (std::size_t at = 0; at < claims.size(); at += step) {
            transaction.copy_send(
                block_rows(std::span(claims).subspan(at, std::min(step, claims.size() - at))));
        }
        transaction.copy_send(binary::copy_trailer);
        transaction.copy_end();
        transaction.query(sql::segment_filter_insert,
                          Parameters{}.integer(static_cast<std::int64_t>(shard)).bytes(filter),
                          names_.names());
        transaction.commit();
    }

    Connection& connection_;
    int ledger_;
    std::int64_t generation_;
    LogNames names_;
    const SealingOptions& options_;
    std::int64_t first_seq_ = 0;
    int bits_ = 0;
};

}  // namespace

SealingReport seal_oldest(Connection& connection, int ledger, const SealingOptions& options) {
    const Result oldest = connection.query(sql::segment_due, Parameters{}.integer(ledger));
    if (oldest.rows() == 0) return {};
    return Sealing(connection, ledger, oldest.integer(0, 0), options).run();
}

int drop_sealed_logs(Connection& connection, int ledger) {
    int dropped = 0;
    const Result logs = connection.query(sql::segment_logs_left, Parameters{}.integer(ledger));
    for (int row = 0; row < logs.rows(); ++row) {
        OwnedTransaction transaction(connection);
        dropped += transaction
                       .query(sql::segment_drop_log,
                              Parameters{}.integer(ledger).integer(logs.integer(row, 0)))
                       .boolean(0, 0);
        transaction.commit();
    }
    return dropped;
}

}  // namespace onceward
