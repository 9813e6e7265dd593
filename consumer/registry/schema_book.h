#pragma once
// What is known of a registry's schemas, which are to be fetched and when: bounded, with the least
// recently used ones forgotten first. Pure: no I/O, the clock is passed in. Not thread-safe;
// SchemaCache guards it.

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "consumer/registry/schema_resolution.h"
#include "dedup/base/backoff.h"

namespace onceward {

struct SchemaBookLimits {
    // The most schemas, and the most bytes of them with their references. Fewer take less memory; a
    // topic that uses more at a time fetches them again and again.
    std::size_t schemas = 1000;
    std::size_t bytes = 64 << 20;
    // How long it is remembered that the registry has no such schema, or one that cannot be used. A
    // longer time asks the registry less often, but messages of a schema that is registered during
    // it go to the dead letters until it ends.
    std::chrono::milliseconds unknown_for{60'000};
    Backoff pauses{.first = std::chrono::milliseconds(250),
                   .longest = std::chrono::milliseconds(10'000),
                   .least = 0.75,
                   .most = 1.25};
};

// Fetches by their outcome.
struct FetchCounts {
    std::int64_t found = 0;
    std::int64_t unknown = 0;
    std::int64_t refused = 0;
    std::int64_t failed = 0;
};

class SchemaBook {
  public:
    using Clock = std::chrono::steady_clock;

    // `name`: of the registry, for reasons.
    SchemaBook(std::string name, SchemaBookLimits limits)
        : name_(std::move(name)), limits_(limits) {}

    // A schema that is not known is fetched from now on, as long as callers ask for it.
    SchemaAnswer find(const SchemaId& id, Clock::time_point now);
    // The schema to fetch now; nullopt if there is none. It is under way until fetched().
    std::optional<SchemaId> begin_fetch(Clock::time_point now);
    // When begin_fetch() will have one; nullopt if nothing waits.
    std::optional<Clock::time_point> next_due() const;
    // `dice`: from 0 to 1.
    void fetched(const SchemaId& id, const Resolution& result, Clock::time_point now, double dice);

    // Grows when find() has something new to be fetched.
    std::uint64_t wanted() const { return wanted_; }
    // Why the registry is in trouble; '' if its last answer was of use.
    const std::string& trouble() const { return trouble_; }
    const FetchCounts& fetches() const { return fetches_; }
    // Those that are not pending, and their bytes.
    std::size_t schemas() const { return uses_.size(); }
    std::size_t bytes() const { return bytes_; }

  private:
    struct Entry {
        SchemaAnswer answer{};
        std::size_t bytes = 0;
        std::optional<std::list<SchemaId>::iterator> use{};  // none while it is pending
        Clock::time_point ends{};                            // unknown and refused
        // Pending.
        Clock::time_point asked{};
        Clock::time_point due{};
        Clock::time_point not_before{};  // as one of the addresses has asked for
        int failures = 0;
        bool under_way = false;
    };
    void want(Entry& entry, Clock::time_point now);
    void keep(const SchemaId& id, Entry& entry);
    void forget(Entry& entry);
    void forget_the_oldest();
    void forget_the_unasked(Clock::time_point now);

    std::string name_;
    SchemaBookLimits limits_;
    std::map<SchemaId, Entry> entries_;
    std::list<SchemaId> uses_;  // the most recent one first
    std::size_t bytes_ = 0;
    std::uint64_t wanted_ = 0;
    std::string trouble_;
    Clock::time_point not_before_{};  // as the registry has asked for, of all schemas
    FetchCounts fetches_;
};

}  // namespace onceward
