#pragma once
// A binary fuse filter over digests (Graf and Lemire, 2022), 18 bits a digest: says no of a digest
// that is not in it in all but 0.0015 % of the cases, and never of one that is. Immutable, so
// thread-safe; owns its memory. What stores and reads it has the machine's byte order.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "dedup/message/digest.h"

namespace onceward {

class FuseFilter {
  public:
    // Needs 24 bytes a digest in addition to the filter while it works. Throws std::runtime_error
    // if that memory is not available.
    explicit FuseFilter(std::span<const Digest> digests);
    // From what stored() gave; std::runtime_error where it is no filter.
    explicit FuseFilter(std::string_view stored);
    FuseFilter(FuseFilter&&) noexcept;
    FuseFilter& operator=(FuseFilter&&) noexcept;
    ~FuseFilter();

    bool may_contain(const Digest& digest) const;
    std::string stored() const;
    std::size_t bytes() const;

  private:
    struct Filter;
    std::unique_ptr<Filter> filter_;
};

}  // namespace onceward
