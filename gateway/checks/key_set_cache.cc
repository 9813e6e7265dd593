#include "gateway/checks/key_set_cache.h"

#include "dedup/base/logging.h"

namespace onceward {

KeySetCache::KeySetCache(KeySetCacheOptions options) : options_(std::move(options)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

KeySetCache::~KeySetCache() {
    thread_.request_stop();
    thread_.join();
    for (const Then& then : waiting_) then(std::chrono::milliseconds::zero());
}

std::shared_ptr<const KeySet> KeySetCache::current() const {
    const MutexLock lock(mutex_);
    return keys_;
}

bool KeySetCache::outdated() const {
    const MutexLock lock(mutex_);
    return outdated_;
}

void KeySetCache::refreshed(Then then) {
    auto left = std::chrono::milliseconds::zero();
    {
        const MutexLock lock(mutex_);
        if (fetched_) {
            left = std::chrono::ceil<std::chrono::milliseconds>(*fetched_ + options_.pause -
                                                                Clock::now());
        }
        if (left.count() <= 0) {
            waiting_.push_back(std::move(then));
            wake_.notify_all();
            return;
        }
    }
    then(left);
}

void KeySetCache::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        fetch();
        MutexLock lock(mutex_);
        const auto next = Clock::now() + (keys_ ? options_.every : options_.pause);
        wake_.wait_until(lock, stop, next,
                         [&]() ONCEWARD_REQUIRES(mutex_) { return !waiting_.empty(); });
        // A fetch that was asked for has to keep the pause, too.
        if (fetched_) {
            wake_.wait_until(lock, stop, *fetched_ + options_.pause, [] { return false; });
        }
    }
}

void KeySetCache::fetch() {
    std::optional<std::string> text;
    std::string why = "no answer";
    std::vector<Then> waiting;
    try {
        text = options_.fetch();
    } catch (const std::exception& error) {
        why = error.what();
    }
    std::optional<KeySet> keys;
    if (text) keys = KeySet::parse(*text);
    const bool parsed = keys.has_value();
    if (text && !parsed) why = "the response is not a key set";
    {
        const MutexLock lock(mutex_);
        if (keys) keys_ = std::make_shared<const KeySet>(std::move(*keys));
        outdated_ = !parsed;
        fetched_ = Clock::now();
        waiting.swap(waiting_);
    }
    if (!parsed && !told_) log_warning("http.key_set_unavailable", {{"error", why}});
    if (parsed && told_) log_info("http.key_set_available");
    told_ = !parsed;
    for (const Then& then : waiting) then(std::chrono::milliseconds::zero());
}

}  // namespace onceward
