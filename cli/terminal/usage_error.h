#pragma once
// A command line that cannot be meant; the command answers with exit_usage.

#include <stdexcept>

namespace onceward {

class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace onceward
