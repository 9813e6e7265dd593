#include "dedup/claims/log/segment_reader.h"

#include <algorithm>

#include "dedup/base/expects.h"
#include "dedup/claims/log/log_reader.h"
#include "schemas/queries.h"

namespace onceward {

void read_segments(Connection& connection, int ledger, std::span<const PublishedSegment> segments,
                   LogWindow& window) {
    for (const PublishedSegment& segment : segments) {
        if (window.has_segment(segment.generation)) continue;
        const LogNames names(ledger, segment.generation);
        std::vector<SegmentPart> parts;
        for (const PartExtent& part : segment.parts) {
            auto filter = std::make_shared<SegmentFilter>(part.shard_bits, part.claims);
            for (int number = part.first_filter; !filter->complete(); ++number) {
                const QueryResult row = connection.prepared(
                    sql::segment_filters, Parameters{}.integer(number), names.names(), true);
                if (row.rows() == 0) throw std::runtime_error("a segment lacks a filter");
                filter->add(FuseFilter(row.text(0, 0)));
            }
            parts.push_back({part.number, std::move(filter)});
        }
        window.put_segment(segment.generation, std::move(parts));
    }
}

void verify(Transaction& transaction, int ledger, std::span<const LogWindow::Suspect> suspects,
            std::span<const Claim> claims, std::span<ClaimAnswer> answers) {
    expects(std::ranges::is_sorted(suspects, {}, &LogWindow::Suspect::generation),
            "suspects are in their generations' order");
    std::vector<Digest> digests;
    std::vector<std::int32_t> parts;
    std::vector<std::size_t> places;
    for (std::size_t begin = 0; begin < suspects.size();) {
        const std::int64_t generation = suspects[begin].generation;
        digests.clear();
        parts.clear();
        places.clear();
        std::size_t end = begin;
        for (; end < suspects.size() && suspects[end].generation == generation; ++end) {
            const std::size_t place = suspects[end].place;
            if (answers[place].verdict != Verdict::fresh) continue;
            digests.push_back(claims[place].digest);
            parts.push_back(suspects[end].part);
            places.push_back(place);
        }
        begin = end;
        if (digests.empty()) continue;
        const LogNames names(ledger, generation);
        const bool whole = parts.front() == 0;
        Parameters parameters = std::move(Parameters{}.digests(digests));
        if (!whole) parameters.small_integers(parts);
        const QueryResult found =
            transaction.prepared(whole ? sql::segment_find : sql::segment_find_in_parts, parameters,
                                 names.names(), true);
        for (int row = 0; row < found.rows(); ++row) {
            const std::size_t place =
                places[static_cast<std::size_t>(found.binary_integer(row, 0) - 1)];
            std::optional<Digest> fingerprint;
            if (!found.is_null(row, 1)) {
                fingerprint = unpacked_fingerprint(digests_in(found.text(row, 1))[0]);
            }
            answers[place] = earlier_claim(claims[place], fingerprint);
        }
    }
}

}  // namespace onceward
