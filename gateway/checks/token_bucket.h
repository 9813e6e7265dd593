#pragma once
// How often something may happen, for each of many names (tenants, keys). The time is given, so it
// is pure; used by one thread at a time.

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace onceward {

struct RateLimit {
    // Tokens that come back in a second; each event takes one.
    double per_second = 0;
    // Most tokens that accumulate: what may happen at once after a pause. At least 1.
    double burst = 1;
};

class TokenBuckets {
  public:
    using Clock = std::chrono::steady_clock;
    // How many names are remembered, each about 150 bytes. Beyond that the name that was used
    // longest ago is forgotten, and begins with a full bucket next time.
    TokenBuckets(RateLimit limit, std::size_t most_names);
    TokenBuckets(const TokenBuckets&) = delete;
    TokenBuckets& operator=(const TokenBuckets&) = delete;

    // Takes a token of that name: returns nullopt if there was one, otherwise how long until there
    // is one.
    std::optional<std::chrono::seconds> take(std::string_view name, Clock::time_point now);
    std::size_t names() const { return buckets_.size(); }

  private:
    struct Bucket {
        std::string name;
        double tokens;
        Clock::time_point filled;
    };
    Bucket& find(std::string_view name, Clock::time_point now);

    RateLimit limit_;
    std::size_t most_names_;
    std::list<Bucket> buckets_;  // the one asked for last comes first
    // Views of the names in the list, whose nodes stay where they are.
    std::unordered_map<std::string_view, std::list<Bucket>::iterator> places_;
};

}  // namespace onceward
