#pragma once
// A command line that cannot be meant; the command answers with exit_usage.

#include <stdexcept>
#include <string>

namespace onceward {

class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Throws it where the line is wrong, with this text.
inline void usage_error_if(bool wrong, const std::string& text) {
    if (wrong) throw UsageError(text);
}

}  // namespace onceward
