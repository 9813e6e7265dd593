#pragma once
// Counts how often reading a partition failed at one offset, and says when to give up. Pure; one
// object for each partition, used under its owner's lock.

#include <cstdint>
#include <optional>

#include "dedup/base/types.h"

namespace onceward {

class ReadAttempts {
  public:
    // A fetch that was damaged in transit is whole the next time; data that is damaged on the
    // broker's disk is not. More tries only delay the report.
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
