// Put before a program's libraries (LD_PRELOAD), this makes its clock wrong by the microseconds
// that stand in a file, from the moment they stand there. The monotonic clock is left alone. Who
// waits until a time of the wrong clock waits until the right one's: a step while it waits is not
// felt.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr long microseconds = 1'000'000;

using Offset = std::atomic<std::int64_t>;

// Null where there is no such file: the clock is right then. Children share it.
const Offset* mapped_offset() {
    const char* file = std::getenv("ONCEWARD_FALSE_CLOCK");
    const int descriptor = file == nullptr ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return nullptr;
    void* memory = mmap(nullptr, sizeof(Offset), PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return memory == MAP_FAILED ? nullptr : static_cast<const Offset*>(memory);
}

std::int64_t offset_us() {
    static const Offset* const offset = mapped_offset();
    return offset == nullptr ? 0 : offset->load(std::memory_order_relaxed);
}

template <class Function>
Function the_real(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

timespec false_now() {
    static const auto real = the_real<int (*)(clockid_t, timespec*)>("clock_gettime");
    timespec now{};
    real(CLOCK_REALTIME, &now);
    const std::int64_t offset = offset_us();
    now.tv_sec += offset / microseconds;
    now.tv_nsec += offset % microseconds * 1000;
    if (now.tv_nsec < 0) {
        now.tv_nsec += 1'000'000'000;
        --now.tv_sec;
    } else if (now.tv_nsec >= 1'000'000'000) {
        now.tv_nsec -= 1'000'000'000;
        ++now.tv_sec;
    }
    return now;
}

// A time that is so small is one of the monotonic clock.
constexpr time_t before_any_real_time = 1'000'000'000;

timespec right_time(const timespec* wanted) {
    timespec right = *wanted;
    if (right.tv_sec > before_any_real_time) right.tv_sec -= offset_us() / microseconds;
    return right;
}

}  // namespace

extern "C" {

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
    static const auto real =
        the_real<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
            "pthread_cond_timedwait");
    const timespec right = right_time(until);
    return real(condition, mutex, &right);
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
    static const auto real =
        the_real<int (*)(cnd_t*, mtx_t*, const timespec*)>("cnd_timedwait");
    const timespec right = right_time(until);
    return real(condition, mutex, &right);
}

int sem_timedwait(sem_t* semaphore, const timespec* until) {
    static const auto real = the_real<int (*)(sem_t*, const timespec*)>("sem_timedwait");
    const timespec right = right_time(until);
    return real(semaphore, &right);
}

int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
    static const auto real =
        the_real<int (*)(pthread_mutex_t*, const timespec*)>("pthread_mutex_timedlock");
    const timespec right = right_time(until);
    return real(mutex, &right);
}

int clock_gettime(clockid_t clock, timespec* told) noexcept {
    static const auto real = the_real<int (*)(clockid_t, timespec*)>("clock_gettime");
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return real(clock, told);
    *told = false_now();
    return 0;
}

int gettimeofday(timeval* told, void*) noexcept {
    const timespec now = false_now();
    *told = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t* told) noexcept {
    const time_t now = false_now().tv_sec;
    if (told != nullptr) *told = now;
    return now;
}

}  // extern "C"
