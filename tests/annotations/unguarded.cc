// Reads a guarded member without its mutex, and calls what needs it: the analysis must say so
// twice. Nothing builds this file.
#include "dedup/base/mutex.h"

namespace onceward {

class Counter {
  public:
    int value() const { return value_; }
    void add() { add_locked(); }

  private:
    void add_locked() ONCEWARD_REQUIRES(mutex_) { ++value_; }

    Mutex mutex_;
    int value_ ONCEWARD_GUARDED_BY(mutex_) = 0;
};

int count() {
    Counter counter;
    counter.add();
    return counter.value();
}

}  // namespace onceward
