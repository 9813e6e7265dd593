#pragma once
// When the messages of a fixed rate should be sent. Pure; a plain value.

#include <chrono>
#include <cstdint>

namespace onceward::bench {

class Schedule {
  public:
    using Time = std::chrono::system_clock::time_point;
    // Message 0 is due at `begin`. REQUIRES: more than no messages a second.
    Schedule(Time begin, double rate) : begin_(begin), rate_(rate) {}

    Time due(std::int64_t number) const;
    // How many messages are due by then. A sender that was held up has to send them all: each still
    // counts from its own time.
    std::int64_t due_by(Time now) const;

  private:
    Time begin_;
    double rate_;
};

}  // namespace onceward::bench
