#pragma once
// Turns SIGINT and SIGTERM into a flag while it lives, for commands that clean up before they end.
// One at a time in a process; stop_requested() may be asked from any thread. A second signal ends
// the process at once.

#include <csignal>

namespace onceward {

class StopRequest {
  public:
    StopRequest();
    ~StopRequest();
    StopRequest(const StopRequest&) = delete;
    StopRequest& operator=(const StopRequest&) = delete;

  private:
    struct sigaction previous_interrupt_ {};
    struct sigaction previous_terminate_ {};
};

bool stop_requested();

}  // namespace onceward
