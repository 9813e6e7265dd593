#pragma once
// Questions of `onceward doctor`, each bounded in time, and what they find. run_probes() asks in
// threads of its own; a question without an answer in time is abandoned, with its thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace onceward {

enum class ProbeVerdict : std::uint8_t {
    ok,
    note,     // nothing is wrong, or it was not probed
    warning,  // it works now, and may not later
    fault,
};
std::string_view to_text(ProbeVerdict verdict);

struct ProbeRow {
    ProbeVerdict verdict = ProbeVerdict::ok;
    std::string text{};
    std::string next{};  // the next step; '' if there is none
};

struct Probe {
    std::string area;  // such as `brokers`
    std::string name;
    // Owns what it needs: it may outlive its caller. What it throws is a fault.
    std::function<std::vector<ProbeRow>()> ask;
};

struct ProbeResult {
    std::string area;
    std::string name;
    std::vector<ProbeRow> rows;
    std::chrono::microseconds took{0};
    bool answered = true;
};

// The results are in the order of the probes. Each probe has `limit`; a few run at once.
std::vector<ProbeResult> run_probes(const std::vector<Probe>& probes,
                                    std::chrono::milliseconds limit);

ProbeVerdict worst(const std::vector<ProbeResult>& results);

}  // namespace onceward
