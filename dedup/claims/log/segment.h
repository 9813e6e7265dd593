#pragma once
// Segments of a ledger's log: how a sealed generation's digests are laid out, in memory and in
// rows. Pure; plain values; SegmentFilter is immutable once it is shared. Throws std::bad_alloc,
// and std::runtime_error where a stored filter is none.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/digest.h"

namespace onceward {

// How many bits a filter has for each digest, and for how many digests that are not in it it says
// yes all the same: each of those costs a read of a block.
enum class FilterKind : std::uint8_t {
    exact,   // 18 bits, 0.0015 %
    narrow,  // 9 bits, 0.4 %
};

// A binary fuse filter over digests (Graf and Lemire, 2022): never says no of a digest that is in
// it. Immutable, so thread-safe; owns its memory. What stores and reads it has the machine's byte
// order.
class FuseFilter {
  public:
    // Needs 24 bytes a digest in addition to the filter while it works. Throws std::runtime_error
    // if that memory is not available.
    explicit FuseFilter(std::span<const Digest> digests, FilterKind kind = FilterKind::exact);
    // From what stored() gave; std::runtime_error where it is no filter.
    explicit FuseFilter(std::string_view stored);

    bool may_contain(const Digest& digest) const;
    // Asks the processor for the memory that may_contain() will look at.
    void prefetch(const Digest& digest) const;
    std::string stored() const;
    std::size_t bytes() const;

  private:
    class Filter;
    template <class Fuse>
    class FilterOf;
    std::shared_ptr<const Filter> filter_;
};

// Filters are built and stored in pieces, by the first bits of the digest, so that building one
// takes a bounded memory.
std::size_t shard_of(const Digest& digest, int shard_bits);
// The smallest digest of a piece.
Digest first_digest_of(int shard, int shard_bits);
// So that no piece has many more than `most` of so many digests. At most 16.
int shard_bits_for(std::int64_t digests, std::int64_t most);

// What a process remembers of a segment: its filters, as far as they are in memory. Immutable, so
// thread-safe.
class SegmentFilter {
  public:
    // Without any filter.
    SegmentFilter(int shard_bits, std::int64_t claims)
        : shard_bits_(shard_bits), claims_(claims), shards_(std::size_t{1} << shard_bits) {}
    // The same, with the filter of a shard.
    SegmentFilter with(std::size_t shard, FuseFilter filter) const;
    // The same, without the last filters that take so many bytes.
    SegmentFilter less(std::size_t bytes) const;
    // The first shard whose filter is not in memory; nullopt if all are.
    std::optional<std::size_t> first_missing() const;
    // No is certain; yes is to be verified by reading the block. Without its filter in memory a
    // shard says yes to each digest: slower, and never wrong.
    bool may_contain(const Digest& digest) const;
    // As of FuseFilter. In a filter of a hundred million each look waits for the memory otherwise.
    void prefetch(const Digest& digest) const;
    std::int64_t claims() const { return claims_; }
    std::size_t bytes() const;

  private:
    int shard_bits_;
    std::int64_t claims_;
    std::vector<std::optional<FuseFilter>> shards_;
};

// With `reach: partition` a segment has a part for each partition of each source, numbered from 1:
// the same key in another part is another claim. Else it is whole, which is part 0.
struct SegmentPart {
    int number = 0;
    int first_filter = 0;  // the number of its first shard's filter
    std::shared_ptr<const SegmentFilter> filter;
};

// What is stored of a part. Its filters are numbered from `first_filter` on, one for each shard.
struct PartExtent {
    int number = 0;
    int source = 0;
    int partition = 0;
    std::int64_t claims = 0;
    int shard_bits = 0;
    int first_filter = 0;
    int filters() const { return 1 << shard_bits; }
};
// Sets how each part is cut, so that no filter has many more than `most` digests, and numbers the
// filters, those of all parts in a row.
void cut(std::span<PartExtent> parts, int first_filter, std::int64_t most);
// Which filter is the digest's.
int filter_of(const PartExtent& part, const Digest& digest);
// From each reading of the log the filters from one number up to another are made: as many as have
// `most` digests in all, or one.
struct FilterRange {
    int begin = 0;
    int end = 0;
    std::int64_t claims = 0;  // about so many
};
std::vector<FilterRange> readings(std::span<const PartExtent> parts, std::int64_t most);

// A claim on its way from the log into a segment.
struct SealedClaim {
    Digest digest;
    Digest fingerprint;  // packed
    std::uint32_t batch = 0;
    std::int32_t part = 0;
};

// Sorts by part and digest, and leaves each digest once in each part, the first batch's.
void sort_claims(std::vector<SealedClaim>& claims);

// Digests in a block: with their batches they fill a page, and a look-up reads one.
inline constexpr std::size_t block_digests = 400;

// The rows of sql::segment_copy for sorted claims of one part, in COPY's binary form, without its
// header and its end; those of sql::segment_copy_of_partitions where the part is not 0.
std::string block_rows(std::span<const SealedClaim> claims);

}  // namespace onceward
