#include "cli/terminal/stop_request.h"

#include <ctime>

namespace onceward {
namespace {

volatile std::sig_atomic_t requested = 0;
volatile std::sig_atomic_t hung_up = 0;

void request(int) { requested = 1; }
void note_hang_up(int) { hung_up = 1; }

}  // namespace

StopRequest::StopRequest() {
    requested = 0;
    struct sigaction action {};
    action.sa_handler = request;
    // Only once: the second signal has the default action again. No SA_RESTART, so that a blocked
    // read returns.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &previous_interrupt_);
    sigaction(SIGTERM, &action, &previous_terminate_);
}

StopRequest::~StopRequest() {
    sigaction(SIGINT, &previous_interrupt_, nullptr);
    sigaction(SIGTERM, &previous_terminate_, nullptr);
}

bool stop_requested() { return requested != 0; }

HangUpNoted::HangUpNoted() {
    hung_up = 0;
    struct sigaction action {};
    action.sa_handler = note_hang_up;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, &previous_);
}

HangUpNoted::~HangUpNoted() { sigaction(SIGHUP, &previous_, nullptr); }

bool HangUpNoted::taken() {
    if (hung_up == 0) return false;
    hung_up = 0;
    return true;
}

// nanosleep() is not restarted after a signal's handler, as std::this_thread::sleep_for() is.
void sleep_until_signal(std::chrono::milliseconds longest) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const timespec time{.tv_sec = seconds.count(),
                        .tv_nsec = std::chrono::nanoseconds(longest - seconds).count()};
    nanosleep(&time, nullptr);
}

}  // namespace onceward
