#include "dedup/retention/table_sealing.h"

#include <algorithm>
#include <vector>

#include "dedup/claims/log/log_batch.h"
#include "dedup/claims/log/log_reader.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/segment_writer.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// Claims in one answer of the server.
constexpr std::int64_t claims_in_an_answer = 100'000;

// The segment of one sealed generation.
class TableSealing {
  public:
    TableSealing(Connection& connection, int ledger, const ConversionPlan::Generation& generation,
                 const ConversionOptions& options)
        : connection_(connection),
          generation_(generation),
          names_(log_names(ledger, generation.generation)),
          options_(options) {}

    // False: it was changed or dropped meanwhile. `first`: the number of its first batch.
    bool run(std::int64_t first) {
        make_tables(first);
        reached(ConversionStep::tables_made, 0);
        const QueryResult extent = connection_.query(sql::conversion_extent, {}, names_);
        whole_[0].claims = extent.integer(0, 0);
        first_seq_ = extent.integer(0, 1);
        const std::int64_t piece = std::clamp(whole_[0].claims / 8, options_.sealing.shard_claims,
                                              4 * options_.sealing.shard_claims);
        cut(whole_, 0, piece);
        const FilterKind kind = kind_for(whole_[0].claims);
        for (const FilterRange& filters : readings(whole_, piece)) {
            std::vector<SealedClaim> claims = read(filters);
            sort_claims(claims);
            write_segment(connection_, names_, whole_, filters, claims, kind);
            written_ += static_cast<std::int64_t>(claims.size());
            reached(ConversionStep::part_written, written_);
        }
        // A claim was taken out between two readings.
        if (written_ != whole_[0].claims) return false;
        make_ready();
        reached(ConversionStep::segment_ready, written_);
        return true;
    }

  private:
    void reached(ConversionStep step, std::int64_t claims) const {
        if (options_.reached) options_.reached(step, generation_.generation, claims);
    }

    void make_tables(std::int64_t first) {
        Connection::Names names = names_;
        names.emplace_back("first", std::to_string(first));
        OwnedTransaction transaction(connection_);
        transaction.query(sql::conversion_begin, {}, names);
        transaction.commit();
    }

    // All claims of these filters, some at a time.
    std::vector<SealedClaim> read(const FilterRange& filters) const {
        std::vector<SealedClaim> claims = room_for(filters);
        const int bits = whole_[0].shard_bits;
        const int finer = std::max(bits, shard_bits_for(whole_[0].claims, claims_in_an_answer));
        const int last = 1 << finer;
        for (int at = filters.begin << (finer - bits); at < filters.end << (finer - bits); ++at) {
            Parameters range{first_digest_of(at, finer)};
            if (at + 1 < last) {
                range.digest(first_digest_of(at + 1, finer));
            } else {
                range.null();
            }
            range.integer(first_seq_);
            const QueryResult row =
                connection_.prepared(sql::conversion_read, range, names_, true);
            take_claims(row, 0, whole_[0], filters, 0, claims);
        }
        return claims;
    }

    void make_ready() {
        Connection::Names names = names_;
        names.emplace_back("claims", std::to_string(written_));
        names.emplace_back("bits", std::to_string(whole_[0].shard_bits));
        names.emplace_back("last_eviction", std::to_string(generation_.last_eviction));
        OwnedTransaction transaction(connection_);
        transaction.query(sql::conversion_ready, {}, names);
        transaction.commit();
    }

    Connection& connection_;
    const ConversionPlan::Generation& generation_;
    Connection::Names names_;
    const ConversionOptions& options_;
    std::vector<PartExtent> whole_{1};
    std::int64_t first_seq_ = 0;
    std::int64_t written_ = 0;
};

}  // namespace

bool seal_table(Connection& connection, int ledger, const ConversionPlan::Generation& generation,
                const ConversionOptions& options, std::int64_t first) {
    return TableSealing(connection, ledger, generation, options).run(first);
}

void write_missing_filters(Connection& connection, int ledger) {
    const QueryResult rows = connection.query(sql::conversion_one_filter, {ledger});
    for (int row = 0; row < rows.rows(); ++row) {
        const auto names = log_names(ledger, rows.integer(row, 0));
        try {
            if (connection.query(sql::conversion_filter_written, {}, names).boolean(0, 0)) continue;
            const QueryResult digests =
                connection.prepared(sql::conversion_digests, {}, names, true);
            const FuseFilter filter(digests_in(digests.text(0, 0)), kind_for(rows.integer(row, 1)));
            connection.query(sql::segment_filter_insert, Parameters{0}.bytes(filter.stored()),
                             names);
        } catch (const PostgresError& error) {
            if (!table_is_gone(error)) throw;  // It was merged into another, or expired.
        }
    }
}

}  // namespace onceward
