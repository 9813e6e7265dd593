#pragma once
// A webhook sink: where it calls, how often, with what. Plain values.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dedup/base/secret.h"
#include "dedup/sink/effects.h"

namespace onceward {

struct WebhookOptions {
    // http or https; may hold a token, so it is never printed.
    Secret url;
    std::string method = "POST";  // POST, PUT or PATCH
    // Calls under way at once, of one worker.
    std::size_t concurrency = 16;
    // For one call, from the look-up of the name to the answer's last byte. Half of the lease at
    // most.
    std::chrono::milliseconds timeout{10'000};
    std::chrono::milliseconds connect_timeout{3'000};
    EffectRetries retries;
    // Statuses below 500 that are tried again, in addition to 408, 425 and 429.
    std::vector<int> retry_on;
    // Header with the key that stays the same on each try.
    std::string key_header = "Idempotency-Key";
    std::string content_type = "application/json";
    // Sent with each call; values may be secrets.
    std::vector<std::pair<std::string, Secret>> headers;
    // '': calls are not signed.
    Secret sign_secret;
    // onceward: `sign_header: t=TIME,v1=HEX` over `TIME.BODY`. standard_webhooks: the headers of
    // standardwebhooks.com, `webhook-id` with the downstream key.
    enum class SignScheme : std::uint8_t {
        onceward,
        standard_webhooks
    } sign_scheme = SignScheme::onceward;
    std::string sign_header = "Onceward-Signature";
    // Networks that may be called though they are not public: `10.1.0.0/16`, `::1`.
    std::vector<std::string> allow_private;
    // A file of certificates to trust in place of the system's; '': the system's.
    std::string ca_file;
    // The most bytes of an answer's body. If it is longer, the status counts and the body is not
    // kept.
    std::int64_t answer_bytes = 65'536;
};

}  // namespace onceward
