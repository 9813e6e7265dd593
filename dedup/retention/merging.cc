#include "dedup/retention/merging.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dedup/base/expects.h"
#include "dedup/base/mutants.h"
#include "dedup/claims/log/log_reader.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/segment_writer.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

std::vector<MergeCandidate> candidates_of(Connection& connection, int ledger) {
    const QueryResult rows = connection.query(sql::merge_candidates, {ledger});
    std::vector<MergeCandidate> candidates;
    for (int row = 0; row < rows.rows(); ++row) {
        candidates.push_back({.generation = rows.integer(row, 0),
                              .merge = static_cast<int>(rows.integer(row, 1)),
                              .claims = rows.integer(row, 2),
                              .began = std::chrono::milliseconds(rows.integer(row, 3)),
                              .sealed = std::chrono::milliseconds(rows.integer(row, 4)),
                              .age = std::chrono::milliseconds(rows.integer(row, 5)),
                              .mergeable = rows.boolean(row, 6)});
    }
    return candidates;
}

}  // namespace

// One merge, from its tables to its publishing.
class Merger::Merge {
  public:
    Merge(Connection& connection, int ledger, std::vector<MergeCandidate> members,
          const SealingOptions& options)
        : connection_(connection),
          ledger_(ledger),
          members_(std::move(members)),
          first_(members_.front()),
          names_(log_names(ledger, first_.generation, first_.merge + 1)),
          options_(options) {}

    // False: what was to be merged no longer exists.
    bool begin() {
        const std::optional<std::int64_t> evictions = make_tables();
        if (!evictions) return false;
        evictions_ = *evictions;
        for (const MergeCandidate& member : read_members()) whole_[0].claims += member.claims;
        cut(whole_, 0, options_.shard_claims);
        kind_ = kind_for(whole_[0].claims);
        readings_ = readings(whole_, options_.shard_claims);
        return true;
    }
    // Whether all that is to be merged is still there, by the list of generations.
    bool is_listed() const {
        const std::vector<MergeCandidate> now = candidates_of(connection_, ledger_);
        return std::ranges::all_of(members_, [&](const MergeCandidate& member) {
            const auto found =
                std::ranges::find(now, member.generation, &MergeCandidate::generation);
            return found != now.end() && found->merge == member.merge;
        });
    }
    bool read_all() const { return next_ == readings_.size(); }
    // REQUIRES: not all is read.
    void write_next() {
        const FilterRange& filters = readings_[next_++];
        std::vector<SealedClaim> claims = read(filters);
        read_ += static_cast<std::int64_t>(claims.size());
        sort_claims(claims);
        write_segment(connection_, names_, whole_, filters, claims, kind_);
        written_ += static_cast<std::int64_t>(claims.size());
    }
    MergeReport publish() {
        if (!publish_all()) return {};
        return {.merged = true,
                .generation = first_.generation,
                .segments = static_cast<int>(members_.size()),
                .claims = written_};
    }

  private:
    // All of them; a broken build leaves out the last one.
    std::span<const MergeCandidate> read_members() const {
        const std::size_t left_out = mutant("merged_without_the_last_segment") ? 1 : 0;
        return std::span(members_).first(members_.size() - left_out);
    }
    Connection::Names names_of(const MergeCandidate& member) const {
        return log_names(ledger_, member.generation, member.merge);
    }

    // Returns the ledger's count of evictions: a claim that is taken out from here on makes the
    // merge worthless.
    std::optional<std::int64_t> make_tables() {
        OwnedTransaction transaction(connection_);
        const QueryResult row = transaction.query(
            sql::merge_begin, {ledger_, first_.generation, members_.back().generation});
        if (row.is_null(0, 0)) return std::nullopt;
        for (const MergeCandidate& member : members_) {
            const QueryResult extent = transaction.query(sql::merge_extent, {}, names_of(member));
            first_seqs_.push_back(extent.is_null(0, 0) ? 0 : extent.integer(0, 0));
            Connection::Names both = names_;
            both.emplace_back("merged", table_ending(member.generation, member.merge));
            transaction.query(sql::merge_copy_batches, {}, both);
        }
        const QueryResult all = transaction.query(sql::merge_extent, {}, names_);
        first_seq_ = all.is_null(0, 0) ? 0 : all.integer(0, 0);
        const std::int64_t evictions = row.integer(0, 0);
        transaction.commit();
        return evictions;
    }

    // All claims of these filters, from each of the segments.
    std::vector<SealedClaim> read(const FilterRange& filters) const {
        std::vector<SealedClaim> claims = room_for(filters);
        const int bits = whole_[0].shard_bits;
        Parameters range{first_digest_of(filters.begin, bits)};
        if (filters.end < whole_[0].filters()) {
            range.digest(first_digest_of(filters.end, bits));
        } else {
            range.null();
        }
        for (std::size_t i = 0; i < read_members().size(); ++i) {
            const QueryResult blocks =
                connection_.prepared(sql::merge_read, range, names_of(members_[i]), true);
            for (int row = 0; row < blocks.rows(); ++row) {
                take_claims(blocks, row, whole_[0], filters, first_seqs_[i] - first_seq_, claims);
            }
        }
        return claims;
    }

    bool publish_all() {
        return try_publishing(options_, [&] {
            OwnedTransaction transaction(connection_);
            transaction.limit_lock_wait(options_.lock_timeout);
            const std::int64_t replaced =
                transaction
                    .query(sql::merge_claims,
                           {ledger_, first_.generation, read_members().back().generation})
                    .integer(0, 0);
            const QueryResult done = transaction.query(
                sql::merge_publish,
                {ledger_, first_.generation, members_.back().generation, evictions_,
                 static_cast<std::int64_t>(members_.size()), written_, whole_[0].shard_bits});
            if (!done.boolean(0, 0)) return false;
            // DANGER: the segments that it replaces are dropped. A claim that was not read would go
            // with them, and its key would be applied again. If a claim was taken out meanwhile,
            // merge_publish has returned false. Fewer may be written: two partitions may have
            // claimed the same key before the ledger's reach became global.
            expects(read_ == replaced, "a merge reads all claims of the segments it replaces");
            transaction.commit();
            return true;
        });
    }

    Connection& connection_;
    int ledger_;
    const std::vector<MergeCandidate> members_;
    const MergeCandidate& first_;
    Connection::Names names_;  // of the merged segment
    const SealingOptions& options_;
    std::int64_t evictions_ = 0;
    std::vector<PartExtent> whole_{1};
    FilterKind kind_ = FilterKind::exact;
    std::vector<FilterRange> readings_;
    std::size_t next_ = 0;      // of the readings
    std::int64_t read_ = 0;     // claims
    std::int64_t written_ = 0;  // those without the repeated ones
    // The first batch of each member, and of all.
    std::vector<std::int64_t> first_seqs_;
    std::int64_t first_seq_ = 0;
};

Merger::Merger(Connection& connection, int ledger, const SealingOptions& options)
    : connection_(connection), ledger_(ledger), options_(options) {}

Merger::~Merger() = default;

void Merger::drop_orphans() {
    const QueryResult orphans = connection_.query(sql::merge_orphans, {ledger_});
    for (int row = 0; row < orphans.rows(); ++row) {
        try {
            OwnedTransaction transaction(connection_);
            transaction.limit_lock_wait(options_.lock_timeout);
            transaction.query(sql::merge_drop_orphan,
                              Parameters{ledger_}.text(orphans.text(row, 0)));
            transaction.commit();
        } catch (const PostgresError& error) {
            // Somebody reads it, such as a dump; that holds up nothing else.
            if (error.sqlstate() != sqlstate::lock_not_available) throw;
        }
    }
}

bool Merger::begin(const MergeRule& rule) {
    drop_orphans();
    const std::vector<MergeCandidate> candidates = candidates_of(connection_, ledger_);
    const std::optional<MergeRange> due = merge_due(candidates, rule);
    if (!due) return false;
    const auto members = std::span(candidates).subspan(due->begin, due->size());
    merge_ = std::make_unique<Merge>(connection_, ledger_,
                                     std::vector<MergeCandidate>(members.begin(), members.end()),
                                     options_);
    return merge_->begin();
}

MergeReport Merger::advance(const MergeRule& rule, std::chrono::milliseconds time) {
    const auto begun = std::chrono::steady_clock::now();
    if (!merge_) {
        leadership_ =
            std::make_unique<Leadership>(connection_, std::to_string(ledger_) + " merging");
        if (!leadership_->held() || !begin(rule)) {
            merge_.reset();
            leadership_.reset();
            return {};
        }
    }
    while (!merge_->read_all()) {
        if (std::chrono::steady_clock::now() - begun > time) return {.under_way = true};
        merge_->write_next();
    }
    const MergeReport done = merge_->publish();
    merge_.reset();
    leadership_.reset();
    return done;
}

MergeReport Merger::step(const MergeRule& rule, std::chrono::milliseconds time) try {
    return advance(rule, time);
} catch (const PostgresError& error) {
    const std::unique_ptr<Merge> merge = std::move(merge_);
    leadership_.reset();
    // Otherwise one of its members has expired, and its tables are dropped.
    if (!merge || !table_is_gone(error) || merge->is_listed()) throw;
    return {};
} catch (...) {
    merge_.reset();
    leadership_.reset();
    throw;
}

}  // namespace onceward
