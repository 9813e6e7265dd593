#pragma once
// The configuration that a process runs with now, which a reload replaces. Thread-safe: what was
// taken stays as it is for as long as somebody holds it.

#include <memory>
#include <utility>

#include "cli/configuration/configuration.h"
#include "dedup/base/mutex.h"

namespace onceward {

class CurrentConfiguration {
  public:
    explicit CurrentConfiguration(Configuration first)
        : current_(std::make_shared<const Configuration>(std::move(first))) {}
    std::shared_ptr<const Configuration> get() const {
        const MutexLock lock(mutex_);
        return current_;
    }
    void replace(std::shared_ptr<const Configuration> next) {
        const MutexLock lock(mutex_);
        current_.swap(next);
    }

  private:
    mutable Mutex mutex_;
    std::shared_ptr<const Configuration> current_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
