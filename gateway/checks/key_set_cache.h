#pragma once
// The issuer's keys, fetched again from time to time and when a token names an unknown key.
// Thread-safe; the fetch runs in a thread of its own, so that no request waits for it in the event
// loop. If it fails, the known keys stay, and the fetch is repeated.

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
    // Returns the key set's text. Returns nullopt or throws if it cannot be fetched.
    std::function<std::optional<std::string>()> fetch;
    // A longer interval asks the issuer less often, but accepts a withdrawn key for longer.
    std::chrono::milliseconds every{std::chrono::minutes(15)};
    // The least time between two fetches, also for unknown keys: a stranger who invents key ids
    // must not make us flood the issuer.
    std::chrono::milliseconds pause{std::chrono::seconds(10)};
};

class KeySetCache {
  public:
    explicit KeySetCache(KeySetCacheOptions options);
    // Calls the functions that still wait.
    ~KeySetCache();

    // Null until the first fetch has succeeded.
    std::shared_ptr<const KeySet> current() const;
    // Whether the last fetch failed, so that the issuer may have keys that are unknown here.
    bool outdated() const;
    // `left`: of the pause, until the keys may be fetched again; 0 if they were fetched now.
    using Then = std::function<void(std::chrono::milliseconds left)>;
    // Calls `then` from the cache's thread, after the current fetch or the next one. Calls it at
    // once, in the caller's thread, if the last fetch is younger than the pause.
    void refreshed(Then then);

  private:
    using Clock = std::chrono::steady_clock;
    void run(const std::stop_token& stop);
    void fetch();

    KeySetCacheOptions options_;
    mutable Mutex mutex_;
    std::condition_variable_any wake_;
    std::shared_ptr<const KeySet> keys_ ONCEWARD_GUARDED_BY(mutex_);
    std::optional<Clock::time_point> fetched_ ONCEWARD_GUARDED_BY(mutex_);
    std::vector<Then> waiting_ ONCEWARD_GUARDED_BY(mutex_);
    bool outdated_ ONCEWARD_GUARDED_BY(mutex_) = false;
    bool told_ = false;    // used only by the thread
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace onceward
