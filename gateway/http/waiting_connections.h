#pragma once
// Which connections of the server may give way to somebody who waits for one. All of it belongs to
// the thread of the event loop.

#include <chrono>
#include <set>
#include <utility>

namespace onceward::serving {

class OpenConnection;

// Connections that wait for their peer, by since when.
class WaitingConnections {
  public:
    using Clock = std::chrono::steady_clock;
    using Entry = std::pair<Clock::time_point, OpenConnection*>;
    void add(Clock::time_point since, OpenConnection* one) { all_.emplace(since, one); }
    void remove(Clock::time_point since, OpenConnection* one) { all_.erase({since, one}); }
    OpenConnection* oldest() const { return all_.empty() ? nullptr : all_.begin()->second; }
    const std::set<Entry>& all() const { return all_; }

  private:
    std::set<Entry> all_;
};

}  // namespace onceward::serving
