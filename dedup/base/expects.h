#pragma once
// Checks what a header's REQUIRES says, in release builds too. A broken contract is a bug in this
// program. Its exception ends the batch's topic or the request: nothing is committed, and no
// message is skipped. Thread-safe.

#include <source_location>
#include <stdexcept>
#include <string>

#include "dedup/base/source_place.h"

namespace onceward {

class BrokenContract : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

// Throws BrokenContract with the sentence and the caller's place if the condition is false.
// `sentence` says what holds otherwise, such as "the claims are sorted by digest". Costs one
// comparison; an expensive condition needs a figure that shows what it costs.
inline void expects(bool condition, const char* sentence,
                    const std::source_location& where = std::source_location::current()) {
    if (condition) [[likely]]
        return;
    throw BrokenContract(std::string("a contract is broken: ") + sentence + " (" + place_of(where) +
                         ")");
}

}  // namespace onceward
