#pragma once
// Which effects are one too many. A key may be applied again when its second message became
// readable later than the retention after the first was applied. Pure.

#include <vector>

#include "tests/faults/checker/joined.h"

namespace onceward::checker {

struct TwiceApplied {
    int key = 0;
    Place again{};
};

// One for each effect beyond a key's first that the retention does not allow.
std::vector<TwiceApplied> twice_applied(const Joined& joined);

}  // namespace onceward::checker
