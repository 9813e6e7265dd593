#pragma once
// A set of digests in memory: flat, open addressing, 16 bytes a digest plus free slots (at most
// three quarters are filled). Fingerprints are stored separately, 24 bytes each with the number of
// their batch. Not thread-safe; throws only std::bad_alloc.

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "dedup/message/digest.h"

namespace onceward {

// Allocator for large arrays that are read at random: from 2 MiB on it asks the kernel for pages of
// that size (madvise(2), MADV_HUGEPAGE). Otherwise nearly each look-up would also miss the
// processor's cache of page addresses (TLB). If the kernel gives no such pages, the memory is
// ordinary. Thread-safe; throws std::bad_alloc.
template <class T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t page_bytes = std::size_t{2} << 20;

    T* allocate(std::size_t count) {
        if (count * sizeof(T) < page_bytes) return std::allocator<T>().allocate(count);
        void* const memory = std::aligned_alloc(page_bytes, whole_pages(count));
        if (memory == nullptr) throw std::bad_alloc();
        madvise(memory, whole_pages(count), MADV_HUGEPAGE);
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) {
        if (count * sizeof(T) < page_bytes) return std::allocator<T>().deallocate(memory, count);
        std::free(memory);
    }
    friend bool operator==(HugePages, HugePages) { return true; }

  private:
    static std::size_t whole_pages(std::size_t count) {
        return (count * sizeof(T) + page_bytes - 1) / page_bytes * page_bytes;
    }
};

class DigestTable {
  public:
    DigestTable();
    // Adds the digest if it is not in the set yet; otherwise its first fingerprint stays, with the
    // number of its batch.
    void insert(const Digest& digest, const std::optional<Digest>& fingerprint = std::nullopt,
                std::int64_t batch = 0);
    // Grows for `more` further digests, each shard for its share of them.
    void make_room(std::size_t more);
    bool contains(const Digest& digest) const;
    // The fingerprint of a digest in the set; nullopt if it was added without one. REQUIRES: the
    // digest is in the set.
    std::optional<Digest> fingerprint(const Digest& digest) const;
    // The number of its batch; 0 if it is not in the set or was added without a fingerprint.
    std::int64_t batch(const Digest& digest) const;
    // Asks the processor for the memory that contains() will read. Call it for a dozen digests
    // before the first of them is looked up.
    void prefetch(const Digest& digest) const;
    std::size_t size() const { return size_; }
    std::size_t bytes() const;

  private:
    // Many small tables in place of a large one: each grows by itself, so that no growth takes
    // long; and not too many, so that large tables fill huge pages.
    static constexpr int shard_bits = 4;
    using Slots = std::vector<Digest, HugePages<Digest>>;
    struct Known {
        Digest fingerprint;  // packed
        std::int64_t batch = 0;
    };
    struct Shard {
        Slots slots;                                  // a digest of zeros: free
        std::vector<Known, HugePages<Known>> knowns;  // parallel, or empty
        std::size_t used = 0;
        int shift = 64;  // of the hash, to a slot
    };
    std::uint64_t hash(const Digest& digest) const;
    const Shard& shard(std::uint64_t hash) const { return shards_[hash >> (64 - shard_bits)]; }
    static std::size_t first_slot(const Shard& shard, std::uint64_t hash) {
        return static_cast<std::size_t>((hash << shard_bits) >> shard.shift);
    }
    // The slot of the digest, or the free slot for it. REQUIRES: the shard has slots.
    static std::size_t find(const Shard& shard, std::uint64_t hash, const Digest& digest);
    Known known(const Digest& digest) const;
    void grow(Shard& shard) const;
    // Whether `more` further digests would fill more than three quarters of it.
    static bool full(const Shard& shard, std::size_t more) {
        return 4 * (shard.used + more) > 3 * shard.slots.size();
    }

    std::array<Shard, std::size_t{1} << shard_bits> shards_;
    // Random and odd, so that invented keys cannot be aimed at one place of the table.
    std::uint64_t multiplier_;
    std::size_t size_ = 0;
    // The digest of zeros marks free slots, so it cannot be kept in one.
    bool has_zero_ = false;
    Known zero_known_;
};

}  // namespace onceward
