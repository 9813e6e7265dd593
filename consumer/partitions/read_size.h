#pragma once
// How many records a reader takes at once. A chunk is never larger than a batch, so that the
// batch's limits hold; its size in bytes is estimated from the records before it. A plain value for
// each topic, used by the reader's thread only.

#include <cstddef>

#include "dedup/message/batch.h"

namespace onceward {

class ReadSize {
  public:
    // `most`: messages, if that is fewer than the batch's limit; 0: the batch's limit.
    ReadSize(const BatchLimits& batch, std::size_t most);
    std::size_t next() const;
    void took(const Chunk& chunk);

  private:
    std::size_t messages_;
    std::size_t bytes_;
    std::size_t record_bytes_;
};

}  // namespace onceward
