// A worker of the release program under steady load: does its memory stay flat, and below what its
// configuration implies?
//   soak [MINUTES=10] [MESSAGES_A_SECOND=10000]
// Prints the resident set at each minute; exit 1 where the last minutes stand above the bound or
// grew by a tenth.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "tests/faults/crash_scene.h"
#include "tests/support/eventually.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// What the configuration of the scene implies: librdkafka's queue for each partition, two batches
// between the threads and one in the transaction with its encoded rows, and what an idle worker
// takes.
constexpr long queued_kilobytes = 16'384;
constexpr long batch_kilobytes = 8'192;
constexpr long idle_kilobytes = 64'000;
constexpr long bound_kilobytes = onceward::faults::CrashScene::partitions * queued_kilobytes +
                                 4 * batch_kilobytes + idle_kilobytes;

long resident_kilobytes(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string word; status >> word;) {
        if (word != "VmRSS:") continue;
        long kilobytes = 0;
        status >> kilobytes;
        return kilobytes;
    }
    return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
    const int minutes = argument_count > 1 ? std::atoi(arguments[1]) : 10;
    const int rate = argument_count > 2 ? std::atoi(arguments[2]) : 10'000;
    onceward::faults::CrashScene scene(1);
    onceward::ChildProcess worker = scene.start_worker();
    std::vector<long> peaks;  // of each minute
    const auto begin = Clock::now();
    for (int minute = 0; minute < minutes; ++minute) {
        peaks.push_back(0);
        for (int second = 0; second < 60; ++second) {
            const auto next = begin + std::chrono::seconds(minute * 60 + second + 1);
            scene.send(rate);
            peaks.back() = std::max(peaks.back(), resident_kilobytes(worker.pid()));
            onceward::support::eventually(
                std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()),
                [&] { return !worker.running(); });
        }
        std::cout << "minute " << minute + 1 << ": " << peaks.back() / 1024 << " MiB, "
                  << scene.sent() << " messages sent" << std::endl;
    }
    const bool drained = scene.drained(120s);
    scene.stop_worker(worker);
    // The first minute fills caches and pools.
    const long early = peaks[std::min<std::size_t>(1, peaks.size() - 1)];
    const bool flat = peaks.back() <= early + early / 10;
    std::cout << "bound " << bound_kilobytes / 1024 << " MiB, minute 2 " << early / 1024
              << " MiB, last " << peaks.back() / 1024 << " MiB: " << (flat ? "flat" : "growing")
              << (drained ? "" : ", and the worker did not keep up") << std::endl;
    return flat && drained && peaks.back() < bound_kilobytes ? 0 : 1;
}
