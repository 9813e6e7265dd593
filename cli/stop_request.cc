#include "cli/stop_request.h"

namespace onceward {
namespace {

volatile std::sig_atomic_t requested = 0;

void request(int) { requested = 1; }

}  // namespace

StopRequest::StopRequest() {
    requested = 0;
    struct sigaction action {};
    action.sa_handler = request;
    // Once: the second signal finds the default action again. No SA_RESTART: a blocked read shall
    // return.
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

}  // namespace onceward
