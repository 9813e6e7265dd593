#include "lab/bench/steady_load.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "lab/bench/topic.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::system_clock;

constexpr auto tick = 500us;
constexpr auto latest = 100ms;

}  // namespace

LoadTimes send_steadily(const std::string& bootstrap_servers, const Workload& workload,
                        double rate) {
    ProducerOptions options;
    options.bootstrap_servers = bootstrap_servers;
    options.linger = 0ms;
    Producer producer(options);
    const auto begin = Clock::now();
    const auto due = [&](std::int64_t number) {
        return begin + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(static_cast<double>(number) / rate));
    };
    for (std::int64_t number = 0; number < workload.messages; ++number) {
        for (auto now = Clock::now(); now < due(number); now = Clock::now()) {
            producer.poll(0ms);
            std::this_thread::sleep_for(std::min<Clock::duration>(due(number) - now, tick));
        }
        if (Clock::now() - due(number) > latest) {
            throw std::runtime_error("the producer cannot send as fast as it should");
        }
        const std::string key = key_of(workload, number);
        send(producer, workload, number, key, payload(key, number, due(number)));
    }
    finish(producer);
    return {begin, due(workload.messages)};
}

}  // namespace onceward::bench
