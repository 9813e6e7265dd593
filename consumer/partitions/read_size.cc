#include "consumer/partitions/read_size.h"

#include <algorithm>

namespace onceward {
namespace {

constexpr std::size_t read_at_once = 1000;
constexpr std::size_t first_at_once = 16;  // while the size of the records is unknown

}  // namespace

ReadSize::ReadSize(const BatchLimits& batch, std::size_t most)
    : messages_(std::min({read_at_once, batch.messages, most > 0 ? most : batch.messages})),
      bytes_(batch.bytes),
      record_bytes_(std::max<std::size_t>(batch.bytes / first_at_once, 1)) {}

std::size_t ReadSize::next() const {
    return std::min(messages_, std::max<std::size_t>(bytes_ / record_bytes_, 1));
}

void ReadSize::took(const Chunk& chunk) {
    if (chunk.messages.empty()) return;
    // Large records are remembered for a while.
    record_bytes_ =
        std::max({chunk.bytes / chunk.messages.size(), record_bytes_ / 2, std::size_t{1}});
}

}  // namespace onceward
