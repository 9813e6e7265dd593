#pragma once
// What has been done to a run, and what went wrong with its processes: counted only where it really
// took effect. Belongs to the thread that injects the faults; a value.

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/campaign/fault_kind.h"

namespace onceward::campaign {

class Tally {
  public:
    explicit Tally(const std::string& log) : log_(log), begin_(std::chrono::steady_clock::now()) {}

    void count(FaultKind kind, std::int64_t times = 1) {
        faults_[kind] += times;
        write(std::string(name_of(kind)) + ": took effect " + std::to_string(times) + " times");
    }
    void nothing(FaultKind kind, const std::string& why) {
        write(std::string(name_of(kind)) + ": no effect: " + why);
    }
    void violation(const std::string& what) {
        violations_.push_back(what);
        write("VIOLATION: " + what);
    }
    void write(const std::string& line) {
        const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - begin_);
        log_ << now.count() << " ms " << line << std::endl;
    }
    const std::map<FaultKind, std::int64_t>& faults() const { return faults_; }
    const std::vector<std::string>& violations() const { return violations_; }

  private:
    std::ofstream log_;
    std::chrono::steady_clock::time_point begin_;
    std::map<FaultKind, std::int64_t> faults_;
    std::vector<std::string> violations_;
};

}  // namespace onceward::campaign
