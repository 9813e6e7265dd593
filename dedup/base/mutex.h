#pragma once
// Mutexes that Clang's thread-safety analysis knows, and the annotations of members and functions.
// `make test` runs the analysis (scripts/annotations); for GCC the annotations are empty, and the
// types are those of the standard library. To wait, use std::condition_variable_any with a
// MutexLock. The analysis takes a lambda for a separate function, so a lambda repeats what its
// caller holds:
//
//     wake_.wait(lock, stop, [&]() ONCEWARD_REQUIRES(mutex_) { return !queue_.empty(); });
//
// Comments say which members belong to one thread instead and have no mutex.

#include <mutex>
#include <shared_mutex>

#ifdef __clang__
#define ONCEWARD_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define ONCEWARD_THREAD_SAFETY(attribute)
#endif

// The member is read and written under this mutex; for reads, either lock of a SharedMutex will do.
#define ONCEWARD_GUARDED_BY(mutex) ONCEWARD_THREAD_SAFETY(guarded_by(mutex))
// The caller holds the mutex.
#define ONCEWARD_REQUIRES(mutex) ONCEWARD_THREAD_SAFETY(requires_capability(mutex))
#define ONCEWARD_REQUIRES_SHARED(mutex) ONCEWARD_THREAD_SAFETY(requires_shared_capability(mutex))
// The caller does not hold the mutex: the function, or one that it calls, takes it.
#define ONCEWARD_EXCLUDES(mutex) ONCEWARD_THREAD_SAFETY(locks_excluded(mutex))

namespace onceward {

class ONCEWARD_THREAD_SAFETY(capability("mutex")) Mutex {
  public:
    void lock() ONCEWARD_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
    void unlock() ONCEWARD_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

  private:
    std::mutex mutex_;
};

// For many readers at a time.
class ONCEWARD_THREAD_SAFETY(capability("mutex")) SharedMutex {
  public:
    void lock() ONCEWARD_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
    void unlock() ONCEWARD_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
    void lock_shared() ONCEWARD_THREAD_SAFETY(acquire_shared_capability()) { mutex_.lock_shared(); }
    void unlock_shared() ONCEWARD_THREAD_SAFETY(release_shared_capability()) {
        mutex_.unlock_shared();
    }

  private:
    std::shared_mutex mutex_;
};

// Holds the mutex until its scope ends. unlock() and lock() are for a part of the scope, and for
// condition variables.
class ONCEWARD_THREAD_SAFETY(scoped_lockable) MutexLock {
  public:
    explicit MutexLock(Mutex& mutex) ONCEWARD_THREAD_SAFETY(acquire_capability(mutex))
        : lock_(mutex) {}
    ~MutexLock() ONCEWARD_THREAD_SAFETY(release_capability()) = default;
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;
    void lock() ONCEWARD_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }
    void unlock() ONCEWARD_THREAD_SAFETY(release_capability()) { lock_.unlock(); }

  private:
    std::unique_lock<Mutex> lock_;
};

class ONCEWARD_THREAD_SAFETY(scoped_lockable) WriteLock {
  public:
    explicit WriteLock(SharedMutex& mutex) ONCEWARD_THREAD_SAFETY(acquire_capability(mutex))
        : lock_(mutex) {}
    ~WriteLock() ONCEWARD_THREAD_SAFETY(release_capability()) = default;
    WriteLock(const WriteLock&) = delete;
    WriteLock& operator=(const WriteLock&) = delete;

  private:
    std::unique_lock<SharedMutex> lock_;
};

class ONCEWARD_THREAD_SAFETY(scoped_lockable) ReadLock {
  public:
    explicit ReadLock(SharedMutex& mutex) ONCEWARD_THREAD_SAFETY(acquire_shared_capability(mutex))
        : lock_(mutex) {}
    ~ReadLock() ONCEWARD_THREAD_SAFETY(release_capability()) = default;
    ReadLock(const ReadLock&) = delete;
    ReadLock& operator=(const ReadLock&) = delete;

  private:
    std::shared_lock<SharedMutex> lock_;
};

}  // namespace onceward
