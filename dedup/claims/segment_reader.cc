#include "dedup/claims/segment_reader.h"

#include "dedup/claims/log_reader.h"
#include "schemas/queries.h"

namespace onceward {

void read_segments(Connection& connection, int ledger, std::span<const PublishedSegment> segments,
                   LogWindow& window) {
    for (const PublishedSegment& segment : segments) {
        if (window.has_segment(segment.generation)) continue;
        const LogNames names(ledger, segment.generation);
        auto filter = std::make_shared<SegmentFilter>(segment.shard_bits, segment.claims);
        for (int shard = 0; !filter->complete(); ++shard) {
            const Result row = connection.prepared(
                sql::segment_filters, Parameters{}.integer(shard), names.names(), true);
            if (row.rows() == 0) throw std::runtime_error("a segment lacks a filter");
            filter->add(FuseFilter(row.text(0, 0)));
        }
        window.put_segment(segment.generation, std::move(filter));
    }
}

void verify(Transaction& transaction, int ledger, std::span<const LogWindow::Suspect> suspects,
            std::span<const Claim> claims, std::span<ClaimAnswer> answers) {
    std::vector<Digest> digests;
    std::vector<std::size_t> places;
    for (std::size_t begin = 0; begin < suspects.size();) {
        const std::int64_t generation = suspects[begin].generation;
        digests.clear();
        places.clear();
        std::size_t end = begin;
        for (; end < suspects.size() && suspects[end].generation == generation; ++end) {
            const std::size_t place = suspects[end].place;
            if (answers[place].verdict != Verdict::fresh) continue;
            digests.push_back(claims[place].digest);
            places.push_back(place);
        }
        begin = end;
        if (digests.empty()) continue;
        const LogNames names(ledger, generation);
        const Result found = transaction.prepared(sql::segment_find, Parameters{}.digests(digests),
                                                  names.names(), true);
        for (int row = 0; row < found.rows(); ++row) {
            const std::size_t place =
                places[static_cast<std::size_t>(found.binary_integer(row, 0) - 1)];
            std::optional<Digest> fingerprint;
            if (!found.is_null(row, 1)) fingerprint = digests_in(found.text(row, 1))[0];
            if (fingerprint == Digest{}) fingerprint.reset();
            answers[place] = earlier_claim(claims[place], fingerprint);
        }
    }
}

}  // namespace onceward
