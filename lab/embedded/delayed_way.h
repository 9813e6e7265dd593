#pragma once
// One direction of a connection through a DistantLink: what was read waits in a queue until it is
// due. Borrows its two sockets, which do not block. Belongs to the link's thread; throws
// std::bad_alloc alone.

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace onceward {

class DelayedWay {
  public:
    using Clock = std::chrono::steady_clock;

    DelayedWay(int source, int target) : source_(source), target_(target) {}

    int source() const { return source_; }
    int target() const { return target_; }
    bool wants_to_read() const;
    // When the first thing that waits may be written.
    std::optional<Clock::time_point> next_due() const;
    // Whether the source's end was passed on, after all that came before it.
    bool ended() const { return ended_; }

    // Reads what there is, and writes what is due. False: the connection is broken.
    bool move(Clock::time_point now, std::chrono::microseconds delay);

  private:
    struct Parcel {
        Clock::time_point due;
        std::string bytes;  // empty: the source's end
    };

    bool read(std::chrono::microseconds delay);
    bool write(Clock::time_point now);

    int source_;
    int target_;
    std::deque<Parcel> parcels_;
    std::size_t held_ = 0;     // bytes in parcels_
    std::size_t written_ = 0;  // bytes of the first one
    bool source_ended_ = false;
    bool ended_ = false;
};

}  // namespace onceward
