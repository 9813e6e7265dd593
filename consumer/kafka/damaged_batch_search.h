#pragma once
// Where the records behind a damaged batch begin. Pure: what lies at an offset is asked by a
// function.

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

// The first offset from `begin` on at which no unreadable batch lies, `end` where there is none
// below it. Exact, however many damaged batches stand in a row: each is left at its own end, which
// is searched for by halving. None where that takes more than `looks` questions, as where the
// client does not tell the batches apart.
std::optional<Offset> next_readable(Offset begin, Offset end,
                                    const std::function<LogSight(Offset)>& look, int looks = 500);

}  // namespace onceward
