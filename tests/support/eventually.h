#pragma once
// Waiting for what another process does. The only place in the tests where sleeping between looks
// is allowed.

#include <chrono>
#include <functional>

namespace onceward::support {

// Looks every few milliseconds until the predicate holds; false where it does not before the limit.
bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& holds);

}  // namespace onceward::support
