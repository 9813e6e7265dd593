#include "tests/support/eventually.h"

#include <algorithm>
#include <thread>

namespace onceward::support {

bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::chrono::milliseconds pause{1};
    for (;;) {
        if (holds()) return true;
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(50));
    }
}

}  // namespace onceward::support
