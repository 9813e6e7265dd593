// The program's `run`, or `serve`, with a fault point: ends, or freezes, itself at one step of its
// work.
//   onceward-faulty [serve] CONFIG
// ONCEWARD_KILL_AT=step[:n] raises SIGKILL where the n-th such step is reached, ONCEWARD_FREEZE_AT
// SIGSTOP. A test build only: the product has no such switch.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "tests/faults/step_names.h"

namespace onceward {
namespace {

class FaultPoint final : public StepObserver {
  public:
    FaultPoint(const char* variable, int signal) : signal_(signal) {
        const char* text = std::getenv(variable);
        if (text == nullptr) return;
        const std::string value(text);
        const std::size_t colon = value.find(':');
        step_ = step_of(value.substr(0, colon));
        if (colon != std::string::npos) left_ = std::stoi(value.substr(colon + 1));
    }
    void reached(Step step) override {
        if (step_ == step && --left_ == 0) std::raise(signal_);
    }

  private:
    int signal_;
    std::optional<Step> step_;
    std::atomic<int> left_{1};
};

class FaultPoints final : public StepObserver {
  public:
    void reached(Step step) override {
        freeze_.reached(step);
        kill_.reached(step);
    }

  private:
    FaultPoint kill_{"ONCEWARD_KILL_AT", SIGKILL};
    FaultPoint freeze_{"ONCEWARD_FREEZE_AT", SIGSTOP};
};

}  // namespace
}  // namespace onceward

int main(int argument_count, char** arguments) {
    using namespace onceward;
    try {
        const bool serves = argument_count == 3 && std::string(arguments[1]) == "serve";
        if (argument_count != 2 && !serves) {
            throw std::runtime_error("usage: onceward-faulty [serve] CONFIG");
        }
        const Configuration configuration = load_or_throw(arguments[argument_count - 1]);
        configure_log(configuration.logging);
        FaultPoints points;
        if (serves) {
            serve_routes(configuration, &points);
            return 0;
        }
        return run_workers(configuration, &points);
    } catch (const std::exception& error) {
        std::cerr << "onceward-faulty: " << error.what() << '\n';
        return 1;
    }
}
