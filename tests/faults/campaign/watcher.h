#pragma once
// The checker's sampler in a thread of its own, from the first worker's start to the last one's
// end: I2, I5 and I13. Thread-safe but for finish().

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/checker/samplers.h"
#include "tests/faults/checker/scene.h"

namespace onceward::campaign {

class Watcher {
  public:
    explicit Watcher(const std::filesystem::path& scene);
    ~Watcher();

    void watch(int process) { sampler_.watch(process); }
    void expect_fail_over() { sampler_.expect_fail_over(); }
    // Ends the sampling; a line for each violation.
    std::vector<std::string> finish();

  private:
    checker::Scene scene_;
    checker::Sampler sampler_;
    std::atomic<bool> stop_{false};
    checker::SampleReport report_;
    std::thread thread_;
};

}  // namespace onceward::campaign
