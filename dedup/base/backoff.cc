#include "dedup/base/backoff.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <random>

#include "dedup/base/mutex.h"

namespace onceward {
namespace {

constexpr int most_doublings = 30;

}  // namespace

std::chrono::milliseconds Backoff::whole(int failures) const {
    const int doublings = std::clamp(failures - 1, 0, most_doublings);
    // The longest is divided, so that nothing overflows.
    const std::int64_t times = std::int64_t{1} << doublings;
    return first.count() > longest.count() / times ? longest : first * times;
}

std::chrono::milliseconds Backoff::after(int failures, double dice) const {
    return spread(whole(failures), least, most, dice);
}

std::chrono::milliseconds spread(std::chrono::milliseconds pause, double least, double most,
                                 double dice) {
    const double share = least + (most - least) * dice;
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(static_cast<double>(pause.count()) * share));
}

double roll() {
    thread_local std::mt19937_64 random{std::random_device{}()};
    return std::uniform_real_distribution<double>(0.0, 1.0)(random);
}

void sleep_unless(const std::stop_token& stop, std::chrono::milliseconds pause) {
    Mutex mutex;
    MutexLock lock(mutex);
    std::condition_variable_any ended;
    ended.wait_for(lock, stop, pause, [] { return false; });
}

}  // namespace onceward
