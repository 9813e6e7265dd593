#include "consumer/registry/schema_cache.h"

#include <utility>

#include "dedup/base/logging.h"

namespace onceward {

SchemaCache::SchemaCache(SchemaCacheOptions options, RegistryGet get)
    : name_(options.name),
      registry_(std::move(options.addresses), std::move(get)),
      book_(std::move(options.name), options.limits),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

SchemaCache::~SchemaCache() {
    thread_.request_stop();
    thread_.join();
}

SchemaAnswer SchemaCache::find(const SchemaId& id) {
    const MutexLock lock(mutex_);
    return ask(id);
}

// The thread is woken only for what is new. Readers ask in each of their turns while a partition
// waits, and would keep it busy.
SchemaAnswer SchemaCache::ask(const SchemaId& id) {
    const std::uint64_t before = book_.wanted();
    SchemaAnswer answer = book_.find(id, SchemaBook::Clock::now());
    if (book_.wanted() != before) wake_.notify_all();
    return answer;
}

SchemaAnswer SchemaCache::wait_for(const SchemaId& id, std::chrono::milliseconds most) {
    SchemaAnswer answer;
    MutexLock lock(mutex_);
    fetched_.wait_for(lock, most, [&]() ONCEWARD_REQUIRES(mutex_) {
        answer = ask(id);
        return answer.state != SchemaAnswer::State::pending;
    });
    return answer;
}

RegistryCounts SchemaCache::counts() const {
    const MutexLock lock(mutex_);
    return {name_, book_.fetches(), book_.schemas(), book_.bytes(), book_.trouble()};
}

void SchemaCache::run(const std::stop_token& stop) {
    while (const std::optional<SchemaId> id = next(stop)) {
        const Resolution result = registry_.resolve(*id, stop);
        if (stop.stop_requested()) return;
        keep(*id, result);
        const MutexLock lock(listeners_mutex_);
        for (const auto& told : listeners_) told();
    }
}

std::optional<SchemaId> SchemaCache::next(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        if (std::optional<SchemaId> id = book_.begin_fetch(SchemaBook::Clock::now())) return id;
        const std::optional<SchemaBook::Clock::time_point> due = book_.next_due();
        const auto sooner = [&]() ONCEWARD_REQUIRES(mutex_) {
            const auto now_due = book_.next_due();
            return now_due && (!due || *now_due < *due);
        };
        if (due) {
            wake_.wait_until(lock, stop, *due, sooner);
        } else {
            wake_.wait(lock, stop, sooner);
        }
    }
    return std::nullopt;
}

void SchemaCache::keep(const SchemaId& id, const Resolution& result) {
    const MutexLock lock(mutex_);
    const std::string before = book_.trouble();
    book_.fetched(id, result, SchemaBook::Clock::now(), roll());
    fetched_.notify_all();
    const std::string& now = book_.trouble();
    if (before.empty() && !now.empty()) {
        log_warning("registry.unavailable", {{"registry", name_}, {"error", now}});
    } else if (!before.empty() && now.empty()) {
        log_info("registry.available", {{"registry", name_}});
    }
}

SchemaCache::Listener::Listener(SchemaCache& cache, std::function<void()> told) : cache_(cache) {
    const MutexLock lock(cache_.listeners_mutex_);
    place_ = cache_.listeners_.insert(cache_.listeners_.end(), std::move(told));
}

SchemaCache::Listener::~Listener() {
    const MutexLock lock(cache_.listeners_mutex_);
    cache_.listeners_.erase(place_);
}

}  // namespace onceward
