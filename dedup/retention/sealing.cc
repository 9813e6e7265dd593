#include "dedup/retention/sealing.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <thread>
#include <utility>

#include "dedup/claims/log/log_batch.h"
#include "dedup/claims/log/log_reader.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/segment_writer.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t batches_at_once = 256;

class Sealing {
  public:
    Sealing(Connection& connection, int ledger, std::int64_t generation, bool by_partition,
            const SealingOptions& options)
        : connection_(connection),
          ledger_(ledger),
          generation_(generation),
          by_partition_(by_partition),
          names_(log_names(ledger, generation)),
          options_(options) {}

    SealingReport run() {
        const std::optional<std::int64_t> evictions = begin();
        if (!evictions) return {};
        measure();
        const FilterKind kind = kind_for(claims_in(parts_));
        for (const FilterRange& filters : readings(parts_, piece_)) {
            std::vector<SealedClaim> claims = read(filters);
            sort_claims(claims);
            write_segment(connection_, names_, parts_, filters, claims, kind);
            written_ += static_cast<std::int64_t>(claims.size());
        }
        if (!try_publishing(options_, [&] { return publish(*evictions); })) return {};
        return {true, generation_, written_};
    }

  private:
    // False: the generation was dropped meanwhile, or a claim was evicted.
    bool publish(std::int64_t evictions) {
        OwnedTransaction transaction(connection_);
        transaction.limit_lock_wait(options_.lock_timeout);
        transaction.query(sql::segment_copy_batches, {}, names_);
        if (!publish(transaction, evictions).boolean(0, 0)) return false;
        transaction.commit();
        return true;
    }

    // Recreates the tables. Returns the ledger's count of evictions: a claim that is taken out from
    // here on makes the segment worthless.
    std::optional<std::int64_t> begin() {
        OwnedTransaction transaction(connection_);
        const QueryResult row =
            transaction.query(by_partition_ ? sql::segment_begin_of_partitions : sql::segment_begin,
                              {ledger_, generation_});
        std::optional<std::int64_t> evictions;
        if (!row.is_null(0, 0)) evictions = row.integer(0, 0);
        transaction.commit();
        return evictions;
    }

    // Each reading goes through the whole log. So a large log is read in larger pieces.
    std::int64_t piece(std::int64_t claims) const {
        return std::clamp(claims / 8, options_.shard_claims, 4 * options_.shard_claims);
    }

    void measure() {
        const QueryResult extent = connection_.query(sql::segment_extent, {}, names_);
        first_seq_ = extent.integer(0, 1);
        if (!by_partition_) {
            parts_.push_back({.claims = extent.integer(0, 0)});
            piece_ = piece(extent.integer(0, 0));
            return cut(parts_, 0, piece_);
        }
        const QueryResult rows = connection_.query(sql::segment_extent_of_partitions, {}, names_);
        for (int row = 0; row < rows.rows(); ++row) {
            const PartExtent part{.number = row + 1,
                                  .source = static_cast<int>(rows.integer(row, 0)),
                                  .partition = static_cast<int>(rows.integer(row, 1)),
                                  .claims = rows.integer(row, 2)};
            part_of_[{part.source, part.partition}] = parts_.size();
            parts_.push_back(part);
        }
        // DANGER: number the filters from 1, not from 0; see segment_parts.
        piece_ = piece(extent.integer(0, 0));
        cut(parts_, 1, piece_);
    }

    std::vector<SealedClaim> read(const FilterRange& filters) const {
        std::vector<SealedClaim> claims = room_for(filters);
        std::int64_t last = 0;
        while (true) {
            const QueryResult page =
                connection_.prepared(sql::segment_read, {last, batches_at_once}, names_, true);
            for (int row = 0; row < page.rows(); ++row) {
                last = page.binary_integer(row, 0);
                take(page, row, filters, claims);
            }
            if (page.rows() < batches_at_once) return claims;
        }
    }

    const PartExtent& part_of(const QueryResult& page, int row) const {
        if (!by_partition_) return parts_.front();
        return parts_[part_of_.at({static_cast<int>(page.binary_integer(row, 3)),
                                   static_cast<int>(page.binary_integer(row, 4))})];
    }

    void take(const QueryResult& page, int row, const FilterRange& filters,
              std::vector<SealedClaim>& claims) const {
        const PartExtent& part = part_of(page, row);
        const LogBatch found = batch_in(page, row, page.binary_integer(row, 0), 1, 2);
        const auto batch = static_cast<std::uint32_t>(found.seq - first_seq_);
        for (std::size_t i = 0; i < found.digests.size(); ++i) {
            const int filter = onceward::filter_of(part, found.digests[i]);
            if (filter < filters.begin || filter >= filters.end) continue;
            claims.push_back({found.digests[i], found.packed(i), batch, part.number});
        }
    }

    QueryResult publish(Transaction& transaction, std::int64_t evictions) const {
        if (!by_partition_) {
            return transaction.query(sql::segment_publish, {ledger_, generation_, evictions,
                                                            written_, parts_.front().shard_bits});
        }
        std::vector<std::int32_t> sources, partitions, bits, filters;
        std::vector<std::int64_t> claims;
        for (const PartExtent& part : parts_) {
            sources.push_back(part.source);
            partitions.push_back(part.partition);
            claims.push_back(part.claims);
            bits.push_back(part.shard_bits);
            filters.push_back(part.first_filter);
        }
        return transaction.query(
            sql::segment_publish_of_partitions,
            {ledger_, generation_, evictions, sources, partitions, claims, bits, filters});
    }

    Connection& connection_;
    int ledger_;
    std::int64_t generation_;
    bool by_partition_;
    Connection::Names names_;
    const SealingOptions& options_;
    std::int64_t first_seq_ = 0;
    std::int64_t piece_ = 0;  // claims that are sorted at once
    std::vector<PartExtent> parts_;
    // By source and partition: the place in parts_.
    std::map<std::pair<int, int>, std::size_t> part_of_;
    std::int64_t written_ = 0;
};

}  // namespace

bool try_publishing(const SealingOptions& options, const std::function<bool()>& publish) {
    for (int attempt = 1;; ++attempt) {
        try {
            return publish();
        } catch (const PostgresError& error) {
            const bool locked = error.sqlstate() == sqlstate::lock_not_available;
            if (!locked || attempt >= options.publish_tries) throw;
        }
        // Sessions that queued after this one go first.
        std::this_thread::sleep_for(options.lock_timeout / 4);
    }
}

SealingReport seal_oldest(Connection& connection, int ledger, const SealingOptions& options) {
    const QueryResult oldest = connection.query(sql::segment_due, {ledger});
    if (oldest.rows() == 0) return {};
    return Sealing(connection, ledger, oldest.integer(0, 0), oldest.boolean(0, 1), options).run();
}

int drop_sealed_logs(Connection& connection, int ledger, const SealingOptions& options) {
    int dropped = 0;
    const QueryResult logs = connection.query(sql::segment_logs_left, {ledger});
    for (int row = 0; row < logs.rows(); ++row) {
        OwnedTransaction transaction(connection);
        transaction.limit_lock_wait(options.lock_timeout);
        dropped +=
            transaction.query(sql::segment_drop_log, {ledger, logs.integer(row, 0)}).boolean(0, 0);
        transaction.commit();
    }
    return dropped;
}

}  // namespace onceward
