#pragma once
// Finds the offset where the records after a damaged batch begin. Pure: a function tells what is at
// an offset.

#include <cstdint>
#include <functional>
#include <optional>

#include "dedup/base/types.h"

namespace onceward {

// What a reading that begins at an offset meets first.
struct LogSight {
    enum class Kind : std::uint8_t { record, unreadable, end_of_log } kind = Kind::record;
    Offset at;  // of the record; where the unreadable batch begins, which may be lower; the end
};

// Returns the first offset from `begin` on that is not in an unreadable batch, or `end` if there is
// none before it. Exact for any number of consecutive damaged batches: each batch's end is found by
// halving. Returns nullopt if that takes more than `looks` questions, for instance if the client
// does not tell the batches apart.
std::optional<Offset> next_readable(Offset begin, Offset end,
                                    const std::function<LogSight(Offset)>& look, int looks = 500);

}  // namespace onceward
