#pragma once
// What has to hold of requests that were sent again and again to processes that died, from what
// their clients saw and what the database has. Pure; shares no code with the product.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace onceward::faults {

// A key has one operation and one tenant here. The amount tells which body came with it.
struct SeenAnswer {
    std::string key;
    std::int64_t amount = 0;
    int status = 0;
    std::string body{};
    std::string type{};  // of a problem
    bool replayed = false;
    // The row that the answer names, where its route's answers do.
    std::optional<std::int64_t> effect{};
};

struct SeenEffect {
    std::string key;
    std::int64_t amount = 0;
    std::int64_t id = 0;
};

struct SeenRequests {
    std::map<std::string, std::set<std::int64_t>> sent;  // the amounts of each key
    std::set<std::string> undecided;                     // keys that got no definitive answer
    std::vector<SeenAnswer> answers;                     // that arrived whole
    void add(const SeenRequests& others);
};

// How many rows each transaction has written, by its xmin.
using RowsByTransaction = std::map<std::string, std::int64_t>;

struct RequestEvidence {
    SeenRequests requests;
    std::vector<SeenEffect> effects;
    RowsByTransaction effects_of, claims_of, results_of;
};

// Whether a client stops asking: 2xx, or 422.
bool definitive(int status);

// What does not hold, a line each.
std::vector<std::string> judge_requests(const RequestEvidence& evidence);

}  // namespace onceward::faults
