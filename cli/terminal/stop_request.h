#pragma once
// Turns SIGINT and SIGTERM into a flag while it lives, for commands that clean up before they end.
// One at a time in a process; stop_requested() may be asked from any thread. A second signal ends
// the process at once.

#include <chrono>
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

// While it lives, SIGHUP does not end the process: a closed terminal, a log rotation or `systemctl
// reload` would otherwise stop it without a drain. For `run`, which reloads its configuration then,
// and `serve`, which cannot. One at a time in a process.
class HangUpNoted {
  public:
    HangUpNoted();
    ~HangUpNoted();
    HangUpNoted(const HangUpNoted&) = delete;
    HangUpNoted& operator=(const HangUpNoted&) = delete;
    // Whether there was one since the last call. For the main loop, because a signal's handler may
    // do nothing itself.
    static bool taken();

  private:
    struct sigaction previous_ {};
};

// Sleeps for that long, or until a signal of the process comes. For the main thread, which gets
// these signals. One that came just before the call does not shorten it.
void sleep_until_signal(std::chrono::milliseconds longest);

}  // namespace onceward
