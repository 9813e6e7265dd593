#include "dedup/claims/log/fuse_filter.h"

#include <binaryfusefilter.h>

#include <stdexcept>
#include <vector>

namespace onceward {
namespace {

// The part of the digest that nothing else here uses: shards are cut by its first bytes.
std::uint64_t key_of(const Digest& digest) {
    std::uint64_t key;
    std::memcpy(&key, digest.bytes.data() + 8, sizeof key);
    return key;
}

constexpr std::size_t header_bytes = 28;

}  // namespace

struct FuseFilter::Filter : binary_fuse16_t {
    Filter() : binary_fuse16_t{} {}
    Filter(const Filter&) = delete;
    ~Filter() { binary_fuse16_free(this); }
};

FuseFilter::FuseFilter(std::span<const Digest> digests) : filter_(std::make_unique<Filter>()) {
    std::vector<std::uint64_t> keys;
    keys.reserve(digests.size() + 2);
    for (const Digest& digest : digests) keys.push_back(key_of(digest));
    // It is not made for fewer than two.
    while (keys.size() < 2) keys.push_back(keys.size());
    const auto size = static_cast<std::uint32_t>(keys.size());
    if (!binary_fuse16_allocate(size, filter_.get()) ||
        !binary_fuse16_populate(keys.data(), size, filter_.get())) {
        throw std::runtime_error("there is no memory for a filter");
    }
}

FuseFilter::FuseFilter(std::string_view stored) : filter_(std::make_unique<Filter>()) {
    if (stored.size() < header_bytes) throw std::runtime_error("this is not a filter");
    const char* rest = binary_fuse16_deserialize_header(filter_.get(), stored.data());
    const auto header = static_cast<std::size_t>(rest - stored.data());
    const Filter& f = *filter_;
    // What a probe computes stays within the array only if these hold.
    const bool whole =
        stored.size() - header == f.ArrayLength * sizeof(std::uint16_t) && f.SegmentLength > 0 &&
        (f.SegmentLength & (f.SegmentLength - 1)) == 0 &&
        std::uint64_t{f.SegmentCountLength} + 2ULL * f.SegmentLength == f.ArrayLength &&
        f.SegmentCountLength > 0 &&
        std::uint64_t{f.SegmentCount} * f.SegmentLength == f.SegmentCountLength;
    if (!whole) throw std::runtime_error("this is not a filter");
    if (!binary_fuse16_deserialize(filter_.get(), stored.data())) throw std::bad_alloc();
}

FuseFilter::FuseFilter(FuseFilter&&) noexcept = default;
FuseFilter& FuseFilter::operator=(FuseFilter&&) noexcept = default;
FuseFilter::~FuseFilter() = default;

bool FuseFilter::may_contain(const Digest& digest) const {
    return binary_fuse16_contain(key_of(digest), filter_.get());
}

std::string FuseFilter::stored() const {
    // The library's own count includes a member that it does not write.
    std::string bytes(header_bytes + filter_->ArrayLength * sizeof(std::uint16_t), '\0');
    binary_fuse16_serialize(filter_.get(), bytes.data());
    return bytes;
}

std::size_t FuseFilter::bytes() const { return binary_fuse16_size_in_bytes(filter_.get()); }

}  // namespace onceward
