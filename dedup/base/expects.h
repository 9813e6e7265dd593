#pragma once
// Checks what a header's REQUIRES says, in release builds too. A broken contract is a bug in this
// program. Its exception ends the batch's topic or the request: nothing is committed, and no
// message is skipped. Thread-safe.

#include <source_location>
#include <stdexcept>
#include <string>

namespace onceward {

// A place in the source as people read it, in errors and log lines. Pure, thread-safe.
// `dedup/fence/fence.cc:120`: the path in this project's tree. For a file elsewhere, such as an
// application's own, only its name. Never a folder of the machine that built the program.
std::string place_of(const std::source_location& where);

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
