#pragma once
// While it lives, all that is written to std::cout and std::cerr has its control characters escaped
// (dedup/base/text.h): the last line of defence for commands that print what came from
// outside. Line breaks stay; within a value the command itself escapes them, by safe_value(). For
// main() alone.

#include <memory>

namespace onceward {

class SafeOutput {
  public:
    SafeOutput();
    ~SafeOutput();
    SafeOutput(const SafeOutput&) = delete;
    SafeOutput& operator=(const SafeOutput&) = delete;

  private:
    class Filter;
    std::unique_ptr<Filter> out_;
    std::unique_ptr<Filter> error_;
};

}  // namespace onceward
