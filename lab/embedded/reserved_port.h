#pragma once
// A TCP port of 127.0.0.1 for a server that is about to start, held for as long as this lives: no
// connection of another program leaves from it and no other ReservedPort is the same one, while a
// server that asks for SO_REUSEADDR, as PostgreSQL and Kafka do, may listen on it, stop and listen
// again. It lies below the range that the kernel takes for outgoing connections. Moved, not copied;
// used by one thread at a time; the constructor throws std::runtime_error where none is found.

#include <cstdint>

namespace onceward {

class ReservedPort {
  public:
    ReservedPort();
    ~ReservedPort();
    ReservedPort(ReservedPort&& other) noexcept;
    ReservedPort& operator=(ReservedPort&& other) = delete;

    std::uint16_t number() const { return number_; }

  private:
    std::uint16_t number_ = 0;
    int holder_ = -1;  // bound, never listening
};

}  // namespace onceward
