#pragma once
// Work that may wait, done one piece after the other in a thread of its own. post() is thread-safe;
// the rest is for the owner's thread. Work must not throw. The destructor waits for the piece under
// way and drops the others.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <stop_token>
#include <thread>

#include "dedup/base/mutex.h"

namespace onceward {

class WorkThread {
  public:
    using Work = std::function<void(const std::stop_token&)>;
    // `most`: pieces that wait.
    explicit WorkThread(std::size_t most) : most_(most) {}

    // False if as many wait already.
    bool post(Work work) {
        const MutexLock lock(mutex_);
        if (waiting_.size() >= most_) return false;
        waiting_.push_back(std::move(work));
        wake_.notify_all();
        return true;
    }
    void request_stop() { thread_.request_stop(); }

  private:
    void run(const std::stop_token& stop) {
        MutexLock lock(mutex_);
        const auto some = [this]() ONCEWARD_REQUIRES(mutex_) { return !waiting_.empty(); };
        while (wake_.wait(lock, stop, some) && !stop.stop_requested()) {
            const Work work = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            work(stop);
            lock.lock();
        }
    }

    const std::size_t most_;
    Mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Work> waiting_ ONCEWARD_GUARDED_BY(mutex_);
    std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

}  // namespace onceward
