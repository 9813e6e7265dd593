#pragma once
// One rule's violations while they are gathered: counts all, describes the first 20. Descriptions
// are made on demand, as most rules find nothing in many messages. Used by one thread.

#include <string>
#include <utility>

#include "tests/faults/checker/checks.h"

namespace onceward::checker {

class Finding {
  public:
    Finding(std::string invariant, std::string text) {
        violation_.invariant = std::move(invariant);
        violation_.text = std::move(text);
    }
    template <typename Describe>
    void at(const Describe& describe) {
        if (++violation_.count <= most) violation_.where.push_back(describe());
    }
    void into(Violations& violations) {
        if (violation_.count > 0) violations.push_back(std::move(violation_));
    }

  private:
    static constexpr std::int64_t most = 20;
    Violation violation_;
};

}  // namespace onceward::checker
