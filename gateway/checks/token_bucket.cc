#include "gateway/checks/token_bucket.h"

#include <algorithm>
#include <cmath>

namespace onceward {

TokenBuckets::TokenBuckets(RateLimit limit, std::size_t most_names)
    : limit_(limit), most_names_(std::max<std::size_t>(most_names, 1)) {
    limit_.burst = std::max(limit_.burst, 1.0);
}

TokenBuckets::Bucket& TokenBuckets::find(std::string_view name, Clock::time_point now) {
    const auto known = places_.find(name);
    if (known != places_.end()) {
        buckets_.splice(buckets_.begin(), buckets_, known->second);
        return buckets_.front();
    }
    if (buckets_.size() >= most_names_) {
        places_.erase(buckets_.back().name);
        buckets_.pop_back();
    }
    buckets_.push_front({std::string(name), limit_.burst, now});
    places_.emplace(buckets_.front().name, buckets_.begin());
    return buckets_.front();
}

std::optional<std::chrono::seconds> TokenBuckets::take(std::string_view name,
                                                       Clock::time_point now) {
    Bucket& bucket = find(name, now);
    // Threads that read the clock one after the other may arrive here in the other order.
    const double passed = std::max(0.0, std::chrono::duration<double>(now - bucket.filled).count());
    bucket.tokens = std::min(limit_.burst, bucket.tokens + passed * limit_.per_second);
    bucket.filled = std::max(bucket.filled, now);
    if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return std::nullopt;
    }
    // A refused request takes nothing, so that a client that asks too often is still served at the
    // allowed rate. Rounded up: a client that comes a second too early would be refused again.
    const double wait = (1 - bucket.tokens) / limit_.per_second;
    return std::chrono::seconds(static_cast<std::int64_t>(std::max(1.0, std::ceil(wait))));
}

}  // namespace onceward
