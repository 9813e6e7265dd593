#pragma once
// The schemas of one registry, fetched by a thread of their own and shared by all workers of a
// process. Thread-safe. find() never blocks. It owns its thread, and borrows only what the caller's
// functions borrow.

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <thread>

#include "consumer/registry/schema_book.h"
#include "dedup/base/mutex.h"

namespace onceward {

struct SchemaCacheOptions {
    std::string name;                    // as the configuration calls it
    std::vector<std::string> addresses;  // tried in turn
    SchemaBookLimits limits{};
};

struct RegistryCounts {
    std::string name;
    FetchCounts fetches;
    std::size_t schemas = 0;
    std::size_t bytes = 0;
    std::string trouble;  // '' while it answers
};

class SchemaCache final : public SchemaSource {
  public:
    SchemaCache(SchemaCacheOptions options, RegistryGet get);
    // Ends the fetch that is under way.
    ~SchemaCache() override;
    SchemaCache(const SchemaCache&) = delete;
    SchemaCache& operator=(const SchemaCache&) = delete;

    SchemaAnswer find(const SchemaId& id) override;
    // For commands: waits until it is not pending any more, `most` at the longest.
    SchemaAnswer wait_for(const SchemaId& id, std::chrono::milliseconds most);

    // While it lives, the function is called after each fetch, in the cache's thread. It must be
    // short, and must not call the cache.
    class Listener {
      public:
        Listener(SchemaCache& cache, std::function<void()> told);
        ~Listener();
        Listener(const Listener&) = delete;
        Listener& operator=(const Listener&) = delete;

      private:
        SchemaCache& cache_;
        std::list<std::function<void()>>::iterator place_;
    };

    RegistryCounts counts() const;
    const std::string& name() const { return name_; }

  private:
    SchemaAnswer ask(const SchemaId& id) ONCEWARD_REQUIRES(mutex_);
    void run(const std::stop_token& stop);
    // Waits for the next one to fetch; nullopt if a stop is requested.
    std::optional<SchemaId> next(const std::stop_token& stop);
    void keep(const SchemaId& id, const Resolution& result);

    std::string name_;
    RegistryAddresses registry_;  // the thread's own
    mutable Mutex mutex_;
    std::condition_variable_any wake_;     // the thread: somebody asks
    std::condition_variable_any fetched_;  // those who wait
    SchemaBook book_ ONCEWARD_GUARDED_BY(mutex_);
    Mutex listeners_mutex_;  // held while they are called
    std::list<std::function<void()>> listeners_ ONCEWARD_GUARDED_BY(listeners_mutex_);
    std::jthread thread_;
};

// For commands, which may wait: find() waits for each answer. It borrows nothing; it shares the
// cache.
class PatientSchemaSource final : public SchemaSource {
  public:
    PatientSchemaSource(std::shared_ptr<SchemaCache> cache, std::chrono::milliseconds most)
        : cache_(std::move(cache)), most_(most) {}
    SchemaAnswer find(const SchemaId& id) override { return cache_->wait_for(id, most_); }

  private:
    std::shared_ptr<SchemaCache> cache_;
    std::chrono::milliseconds most_;
};

// How long a command waits for one schema, at most.
inline constexpr std::chrono::seconds patience{30};

// Null for null.
inline std::shared_ptr<SchemaSource> patient(std::shared_ptr<SchemaCache> cache) {
    if (!cache) return nullptr;
    return std::make_shared<PatientSchemaSource>(std::move(cache), patience);
}

}  // namespace onceward
