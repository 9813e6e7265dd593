#include "tests/faults/campaign/watcher.h"

#include <chrono>

namespace onceward::campaign {

Watcher::Watcher(const std::filesystem::path& scene)
    : scene_(checker::read_scene(scene)),
      sampler_(scene_),
      thread_([this] { report_ = sampler_.run(stop_); }) {}

Watcher::~Watcher() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
}

std::vector<std::string> Watcher::finish() {
    stop_ = true;
    thread_.join();
    std::vector<std::string> lines;
    for (const checker::Violation& violation : report_.violations) {
        std::string line = violation.invariant + ": " + violation.text + " (while it ran, " +
                           std::to_string(violation.count) + "):";
        for (const std::string& place : violation.where) line += " " + place;
        lines.push_back(line);
    }
    return lines;
}

}  // namespace onceward::campaign
