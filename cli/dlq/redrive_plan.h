#pragma once
// Which dead letters a redrive sends, and in which order. Plain values; what queries the database
// is for one thread, and throws PostgresError.

#include "cli/dlq/dead_letters.h"

namespace onceward {

struct RedriveRules {
    // With `order: by_key`: a record key's letters are sent together, or none of them, since what
    // follows an open letter has to wait for it.
    bool by_key = false;
    // Keys are made of places in the log (`kafka-coordinates`, `derive`): a copy has another key
    // than its letter, so that only `may_repeat` produces again what may be in the log already. The
    // same goes for what may have been applied before the ledger's claims begin.
    bool keys_are_places = false;
    bool may_repeat = false;
    int tries_max = 5;
};

struct RedrivePlan {
    std::vector<Letter> letters;  // in the order in which they go
    std::int64_t exhausted = 0;   // sent again too often already
    std::int64_t behind = 0;      // under the record key of an exhausted or uncertain one
    std::int64_t uncertain = 0;   // may be in the log or applied, and dedup could not decide
    std::int64_t forgotten = 0;   // of those, the ones whose claims are too old to be there
    bool limit_reached = false;   // there may be more letters that can go
};
// All of the letters; pure.
RedrivePlan plan_redrive(std::vector<Letter> letters, const RedriveRules& rules);

// The oldest letters that `filter` picks and that can go. Its limit counts only these, so that
// letters that stay do not keep later ones back. With by_key also the open letters under the same
// record keys, whether the filter picks them or not; of these no copies of hot keys.
RedrivePlan pick_for_redrive(Connection& connection, DeadLetterFilter filter,
                             const RedriveRules& rules);

}  // namespace onceward
