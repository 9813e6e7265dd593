#pragma once
// The issuer's keys, fetched again from time to time and when a token names one that is not there.
// Thread-safe; the fetch runs in a thread of its own, so that no request waits for it in the event
// loop. If it fails, the known keys stay, and it is tried again.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dedup/base/mutex.h"
#include "gateway/checks/json_web_token.h"

namespace onceward {

struct KeySetCacheOptions {
    // The key set's text; none, or an exception, where it could not be had.
    std::function<std::optional<std::string>()> fetch;
    // Longer asks the issuer less often, and takes a key that was withdrawn for longer.
    std::chrono::milliseconds every{std::chrono::minutes(15)};
    // Between two fetches, also for keys that are not there: a stranger who makes key ids up must
    // not make us a burden to the issuer.
    std::chrono::milliseconds pause{std::chrono::seconds(10)};
};

class KeySetCache {
  public:
    explicit KeySetCache(KeySetCacheOptions options);
    // Calls what still waits.
    ~KeySetCache();

    // None until the first fetch has succeeded.
    std::shared_ptr<const KeySet> current() const;
    // Whether the last fetch failed, so that the issuer may have keys that are not there.
    bool outdated() const;
    // Calls `then` after the fetch that is under way or the next one, from the cache's thread; at
    // once, in this one, where the last one is younger than the pause.
    void refreshed(std::function<void()> then);

  private:
    using Clock = std::chrono::steady_clock;
    void run(const std::stop_token& stop);
    void fetch();

    KeySetCacheOptions options_;
    mutable Mutex mutex_;
    std::condition_variable_any wake_;
    std::shared_ptr<const KeySet> keys_ ONCEWARD_GUARDED_BY(mutex_);
    std::optional<Clock::time_point> fetched_ ONCEWARD_GUARDED_BY(mutex_);
    std::vector<std::function<void()>> waiting_ ONCEWARD_GUARDED_BY(mutex_);
    bool outdated_ ONCEWARD_GUARDED_BY(mutex_) = false;
    bool told_ = false;    // used only by the thread
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace onceward
