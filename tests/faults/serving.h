#pragma once
// `onceward serve` in a test: one process after the other at one port, each of which can be killed.
// Used by the test's thread, with which the processes end; what goes wrong fails the test.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/support/cutting_proxy.h"

namespace onceward::faults {

// Where a client finds a process: by itself, and through a proxy that ends each connection at the
// first byte of its answer.
struct Doors {
    std::uint16_t open = 0;
    std::uint16_t cutting = 0;
};

class Serving {
  public:
    // `routes`: the lines below `http:`, and what else the configuration has.
    Serving(const std::filesystem::path& folder, const std::string& name,
            const std::string& routes);
    Doors doors() const { return {port_.number(), cutting_.port()}; }
    std::uint64_t cuts() const { return cutting_.byte_cuts(); }
    std::string log() const { return tail_of(log_); }

    void start();
    void kill_after(std::chrono::milliseconds moment);
    // Kills it once that is so.
    void kill_when(const std::function<bool()>& moment);
    // Starts one that kills itself there, and waits for that.
    void die_at(const std::string& step);
    void stop();

  private:
    void launch(std::vector<std::string> command, std::vector<std::string> environment);

    ReservedPort port_;
    std::filesystem::path configuration_, log_;
    support::CuttingProxy cutting_{support::CuttingProxy::Protocol::bytes, port_.number()};
    std::optional<ChildProcess> process_;
};

}  // namespace onceward::faults
