// onceward-checker [--summary] SCENE.json: reads what a run has left, judges it and prints
// JSON; with --summary also a text for people, to the standard error.
// onceward-checker --sample SCENE.json [--seconds N]: looks at a run from outside, for N
// seconds or until SIGTERM. Exit status: 0 all holds, 1 violations, 2 could not be checked.

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/faults/checker/report.h"
#include "tests/faults/checker/scene.h"

namespace {

using namespace onceward::checker;

constexpr int could_not_check = 2;

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void ask_to_stop(int) { stop = true; }

struct Arguments {
    bool sample = false;
    bool summary = false;
    long seconds = 0;  // 0: until a signal
    std::string scene;
};

Arguments read_arguments(const std::vector<std::string>& words) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--sample") {
            arguments.sample = true;
        } else if (words[i] == "--summary") {
            arguments.summary = true;
        } else if (words[i] == "--seconds" && i + 1 < words.size()) {
            arguments.seconds = std::stol(words[++i]);
        } else if (arguments.scene.empty() && !words[i].starts_with("-")) {
            arguments.scene = words[i];
        } else {
            arguments.scene.clear();
            break;
        }
    }
    if (arguments.scene.empty()) {
        throw std::runtime_error(
            "usage: onceward-checker [--summary] SCENE.json | --sample SCENE.json [--seconds N]");
    }
    return arguments;
}

int sample(const Scene& scene, long seconds) {
    std::signal(SIGTERM, ask_to_stop);
    std::signal(SIGINT, ask_to_stop);
    const SampleReport report = Sampler(scene).run(stop, std::chrono::seconds(seconds));
    std::cout << json_report(report) << "\n";
    return report.violations.empty() ? 0 : 1;
}

int run(const Arguments& arguments) {
    const Scene scene = read_scene(arguments.scene);
    if (arguments.sample) return sample(scene, arguments.seconds);
    const Verdict verdict = judge(gather(scene));
    std::cout << json_report(verdict) << "\n";
    if (arguments.summary) std::cerr << summary(verdict);
    return exit_code(verdict);
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(read_arguments({words + 1, words + count}));
    } catch (const std::exception& error) {
        std::cerr << "onceward-checker: " << error.what() << "\n";
        return could_not_check;
    }
}
