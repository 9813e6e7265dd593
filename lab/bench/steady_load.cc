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

// What both Kafka's own client (since 4.0, KIP-1030) and librdkafka wait for more records by
// default. With 0 a request has a few messages, whatever the rate: on two cores the broker then
// needs most of one for a tenth of the highest rate, and the latency is that of a machine without a
// free processor.
constexpr auto linger = 5ms;
// The messages of a slice are sent together: a thread that sleeps between any two of them takes
// processor time from what is measured. The wait for the slice's end counts as latency.
constexpr auto slice = 1ms;
constexpr auto too_late = 1s;

}  // namespace

LoadTimes send_steadily(const std::string& bootstrap_servers, const Workload& workload,
                        double rate) {
    ProducerOptions options;
    options.bootstrap_servers = bootstrap_servers;
    options.linger = linger;
    Producer producer(options);
    const auto hand_over = [&](std::int64_t number, Schedule::Time due) {
        const std::string key = key_of(workload, number);
        send(producer, workload, number, key, payload(key, number, due));
    };
    // They open the connections and get the producer its id, for which all others would wait.
    const std::int64_t first = std::min<std::int64_t>(workload.partitions, workload.messages);
    for (std::int64_t number = 0; number < first; ++number) hand_over(number, Clock::now());
    finish(producer);

    LoadTimes times;
    times.begin = Clock::now();
    const Schedule schedule(times.begin, rate);
    times.end = schedule.due(workload.messages - first);
    std::int64_t sent = first;
    for (auto wakes = times.begin; sent < workload.messages; wakes += slice) {
        std::this_thread::sleep_until(wakes);
        const std::int64_t due = std::min(first + schedule.due_by(Clock::now()), workload.messages);
        for (; sent < due; ++sent) {
            const Schedule::Time should = schedule.due(sent - first);
            times.latest = std::max(times.latest, Clock::now() - should);
            if (times.latest > too_late) throw LateProducer();
            hand_over(sent, should);
        }
        producer.poll();
    }
    finish(producer);
    return times;
}

}  // namespace onceward::bench
