#pragma once
// How often the message that holds up its partition has been tried. In memory: a worker that takes
// the partition over starts counting again. Pure, not thread-safe.

#include <chrono>
#include <map>
#include <optional>

#include "dedup/base/types.h"

namespace onceward {

class MessageRetries {
  public:
    // `attempts` beyond the first one; `backoff` before the first of them.
    MessageRetries(int attempts, std::chrono::milliseconds backoff)
        : attempts_(attempts), backoff_(backoff) {}

    // How long this message must wait before it is tried again, without jitter; nullopt if it has
    // used all its tries.
    std::optional<std::chrono::milliseconds> next(Partition partition, Offset offset);
    // How often it was tried again.
    int tried(Partition partition, Offset offset) const;
    // Everything below `end` has been passed.
    void passed(Partition partition, Offset end);

  private:
    struct Waiting {
        Offset offset;
        int tried = 0;
    };
    int attempts_;
    std::chrono::milliseconds backoff_;
    std::map<Partition, Waiting> waiting_;
};

}  // namespace onceward
