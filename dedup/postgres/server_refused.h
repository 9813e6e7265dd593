#pragma once
// The server is up and would break the guarantee. The text says what to change; another try does
// not help by itself. A plain exception.

#include <stdexcept>

namespace onceward {

class ServerRefused : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace onceward
