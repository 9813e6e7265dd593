#pragma once
// The cases of draft-ietf-httpapi-idempotency-key-header, sections 2.6 and 2.7, as data: what was
// before, what is sent, and what is answered then. Constants.

#include <array>
#include <cstdint>
#include <string_view>

namespace onceward::support {

struct DraftCase {
    // What happened before with the case's key.
    enum class Before : std::uint8_t { nothing, completed, completed_as_failure, in_flight };
    enum class Sent : std::uint8_t {
        key,
        no_key,
        malformed_key,
        empty_key,
        overlong_key,
        repeated_key,    // two lines
        unexpected_key,  // to a route that takes none
    };
    std::string_view name;
    Before before;
    Sent sent;
    bool same_payload;              // as before
    int status;                     // 0: that of the operation itself
    std::string_view problem_type;  // '' where the answer is the operation's
    bool replayed;
    bool executed;  // whether the operation runs for this request
};

inline constexpr auto draft_cases = [] {
    using Before = DraftCase::Before;
    using Sent = DraftCase::Sent;
    const std::string_view reused = "/onceward/problems/key-reused";
    const std::string_view malformed = "/onceward/problems/key-malformed";
    // For its key alone, before anything runs.
    const auto refused = [](std::string_view name, Sent sent, std::string_view problem_type) {
        return DraftCase{name, Before::nothing, sent, true, 400, problem_type, false, false};
    };
    return std::array{
        DraftCase{"first request", Before::nothing, Sent::key, true, 0, "", false, true},
        DraftCase{"retry after success", Before::completed, Sent::key, true, 0, "", true, false},
        DraftCase{"retry after a final failure", Before::completed_as_failure, Sent::key, true, 0,
                  "", true, false},
        DraftCase{"retry while the first runs", Before::in_flight, Sent::key, true, 409,
                  "/onceward/problems/key-in-flight", false, false},
        DraftCase{"key reused with another payload", Before::completed, Sent::key, false, 422,
                  reused, false, false},
        // Whose key it is, is not known before the first one's end.
        DraftCase{"key reused with another payload while the first runs", Before::in_flight,
                  Sent::key, false, 409, "/onceward/problems/key-in-flight", false, false},
        refused("key missing", Sent::no_key, "/onceward/problems/key-missing"),
        refused("key malformed", Sent::malformed_key, malformed),
        refused("key empty", Sent::empty_key, malformed),
        refused("key overlong", Sent::overlong_key, malformed),
        refused("key repeated", Sent::repeated_key, malformed),
        refused("key not expected", Sent::unexpected_key, "/onceward/problems/key-not-expected"),
    };
}();

}  // namespace onceward::support
