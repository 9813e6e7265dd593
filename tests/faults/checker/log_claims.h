#pragma once
// Claims of ledgers that are logs: a row holds a batch's digests, and where the batch came from,
// but not the place of each claim. A transaction's claims are as many as the rows that it wrote,
// and where: so they are compared with its effects. Pure.

#include <string>
#include <vector>

#include "tests/faults/checker/evidence.h"

namespace onceward::checker {

// One row of a log.
struct LogRow {
    int topic = 0;
    Transaction transaction = 0;
    int ledger = 0;
    std::int64_t generation = 0;
    std::string digests;  // in hexadecimal, 32 letters each
    struct Range {
        int partition = 0;
        std::int64_t first = 0;
        std::int64_t last = 0;
    };
    std::vector<Range> ranges;
};

// A claim for each digest: at the places of the effects that its transaction has within the row's
// ranges, and those that are left over at the beginning of the first range, where they are one too
// many. Which digest is whose is not known; nothing asks.
void add_log_claims(const std::vector<LogRow>& rows, Evidence& evidence);

}  // namespace onceward::checker
