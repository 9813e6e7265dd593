#pragma once
// What has to hold of requests that a front door carried on to an upstream while its processes were
// killed: from what the clients saw, and what the upstream wrote down. Both are in one process and
// share a clock. Pure; shares no code with the product.

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace onceward::faults {

using Moment = std::chrono::steady_clock::time_point;

// What a route promises to do about a key whose call got no answer.
struct UpstreamPromise {
    bool honours_key = false;  // called again, as the upstream makes one effect of both
    bool held = true;          // not before its lease has ended
};

struct SeenCall {
    std::string key;         // the client's
    std::string downstream;  // the one that came along
    std::int64_t amount = 0;
    int status = 0;  // what the upstream said
    std::string body{};
    bool cut_off = false;  // nobody heard that
    Moment at{};           // when it came
};

struct ToldAnswer {
    std::string key;
    std::int64_t amount = 0;
    int status = 0;
    std::string body{};
    std::string type{};  // of a problem: the front door's own word
    bool replayed = false;
    Moment asked{}, told{};
};

struct CallEvidence {
    std::map<std::string, UpstreamPromise> routes{};  // by what their keys begin with, up to `/`
    // Two calls of a held key are at least so far apart.
    std::chrono::milliseconds apart{0};
    std::set<std::string> sent{};       // keys
    std::set<std::string> reused{};     // those that were sent with another body as well
    std::set<std::string> undecided{};  // those that got no definitive answer
    std::vector<SeenCall> calls{};
    std::vector<ToldAnswer> answers{};
};

// The first body of each key is the one with this amount; another one is refused.
constexpr std::int64_t first_amount = 1;

// The upstream's word that the call may be made again.
bool turned_down(int status);
// The upstream's final answer, as it came to a client.
bool is_final(const ToldAnswer& answer);
bool is_outcome_unknown(const ToldAnswer& answer);
// Whether a client stops asking.
bool is_definitive(const ToldAnswer& answer);

// What does not hold, a line each.
std::vector<std::string> judge_calls(const CallEvidence& evidence);

}  // namespace onceward::faults
