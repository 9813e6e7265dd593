#pragma once
// What a run with crashes must have left behind, judged from the produced list and from the rows of
// the database alone. Pure; shares no code with the product. tests/faults/crash_check_test.cc holds
// it to hand-made violations.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onceward::faults {

struct SentMessage {
    std::string key;
    int partition = 0;
    std::int64_t offset = 0;
};

// A row of the user's table. `landed` grows with every insert.
struct AppliedRow {
    std::string key;
    int partition = 0;
    std::int64_t offset = 0;
    std::string transaction;  // xmin
    std::int64_t landed = 0;
};

struct ClaimRow {
    int partition = 0;
    std::int64_t offset = 0;
    std::string transaction;
};

struct FenceRow {
    int partition = 0;
    std::int64_t first_offset = 0;
    std::int64_t next_offset = 0;
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;
    std::int64_t others = 0;  // conflicts, dead letters, skips
    std::optional<std::int64_t> committed;  // Kafka's own offset of the group
};

struct Evidence {
    std::vector<SentMessage> sent;
    std::vector<AppliedRow> rows;
    std::vector<ClaimRow> claims;
    std::vector<FenceRow> fences;
};

// One line for each violation, with the invariant's number; at most `limit` of them.
std::vector<std::string> violations(const Evidence& evidence, std::size_t limit = 20);

}  // namespace onceward::faults
