#pragma once
// How often a partition's reading failed at one offset, and when to give up. Pure; of one
// partition, used under the lock of whoever holds it.

#include <cstdint>
#include <optional>

#include "dedup/base/types.h"

namespace onceward {

class ReadAttempts {
  public:
    // A fetch that was damaged on its way is whole the next time; what is damaged on the broker's
    // disk is not. More tries only tell later.
    static constexpr int at_most = 3;
    enum class Verdict : std::uint8_t { again, halt };

    // The records at `offset` could not be read. Failures elsewhere begin a new count.
    Verdict failed(Offset offset);
    int tries() const { return tries_; }

  private:
    std::optional<Offset> offset_;
    int tries_ = 0;
};

}  // namespace onceward
