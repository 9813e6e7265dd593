#pragma once
// A port of 127.0.0.1 that leads to another port as if the server there were on a machine farther
// away: what is sent arrives half of a round trip later, in either direction and in its order. As
// much as is sent may be under way at once, so that the rate has no limit but the processor's.
// Runs a thread of its own. Its destructor ends the connections at once. A port that cannot be made
// is a std::system_error; a connection that cannot be is closed, as by a server that is not there.

#include <chrono>
#include <cstdint>
#include <memory>

namespace onceward {

class DistantLink {
  public:
    DistantLink(std::uint16_t target_port, std::chrono::microseconds round_trip);
    ~DistantLink();
    DistantLink(const DistantLink&) = delete;
    DistantLink& operator=(const DistantLink&) = delete;

    std::uint16_t port() const;

  private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

}  // namespace onceward
