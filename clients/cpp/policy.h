#pragma once
// What an answer means to a client that retries, and how long it waits: docs/clients.md has it as a
// table. Pure, apart from random pauses; thread-safe.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace onceward::client {

// How often and how long.
struct Retries {
    int attempts = 6;          // most sends that fail: no answer, 5xx, 408, 425, 429
    int in_flight_waits = 10;  // most waits for a first attempt that still runs (409)
    // The first pause; doubled each time, half of it random.
    std::chrono::milliseconds backoff{200};
    std::chrono::milliseconds backoff_max{20'000};
    std::chrono::milliseconds retry_after_max{60'000};  // a server that says more ends the tries
};

enum class Verdict : std::uint8_t {
    done,
    in_flight,  // wait for the first attempt
    again,
    refused,  // thrown at once
};

struct Reading {
    int status = 0;
    bool replayed = false;
    // The name after `/onceward/problems/`; the whole type if it begins otherwise; '' without one.
    std::string_view problem;
    std::optional<std::chrono::milliseconds> retry_after;
};
Verdict judge(const Reading& reading);

// Parses Idempotent-Replayed, in any case: `true`, also several times. If one value says otherwise,
// nothing is known, and the answer counts as the first one.
bool parse_replayed(std::string_view value);

// Whether the request may have taken effect, or still may, whatever the answer says.
bool leaves_doubt(int status);

// Whether this answer shows how the operation ended, so that its key can be forgotten.
bool settles(int status, bool replayed, bool in_doubt);

// Before the next try, after so many failures. What the server asked for is the least.
std::chrono::milliseconds pause(const Retries& retries, int failures,
                                std::optional<std::chrono::milliseconds> retry_after);
std::chrono::milliseconds in_flight_pause(const Retries& retries,
                                          std::optional<std::chrono::milliseconds> retry_after);

// Seconds, or a date (RFC 9110, 10.2.3); nullopt for anything else. Of several values in seconds
// the largest counts.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value,
                                                           std::chrono::seconds now_since_1970);

}  // namespace onceward::client
