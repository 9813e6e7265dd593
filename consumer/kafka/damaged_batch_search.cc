#include "consumer/kafka/damaged_batch_search.h"

#include <algorithm>

namespace onceward {

std::optional<Offset> next_readable(Offset begin, Offset end,
                                    const std::function<LogSight(Offset)>& look, int looks) {
    std::int64_t at = begin.raw();
    while (at < end.raw()) {
        if (looks-- <= 0) return std::nullopt;
        const LogSight batch = look(Offset{at});
        if (batch.kind != LogSight::Kind::unreadable) return Offset{at};
        const auto inside = [&](std::int64_t offset) {
            const LogSight sight = look(Offset{offset});
            return sight.kind == LogSight::Kind::unreadable && sight.at == batch.at;
        };
        // Between `at`, inside of the batch, and `outside`: first in doubling steps, then halves.
        std::int64_t outside = end.raw();
        for (std::int64_t step = 1; at + step < outside;) {
            if (looks-- <= 0) return std::nullopt;
            const std::int64_t probe = at + step;
            if (inside(probe)) {
                at = probe;
                step *= 2;
            } else {
                outside = probe;
            }
        }
        while (outside - at > 1) {
            if (looks-- <= 0) return std::nullopt;
            const std::int64_t middle = at + (outside - at) / 2;
            (inside(middle) ? at : outside) = middle;
        }
        at = outside;
    }
    return std::max(begin, end);
}

}  // namespace onceward
