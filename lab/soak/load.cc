#include "lab/soak/load.h"

#include <stdexcept>
#include <utility>

#include "lab/bench/schedule.h"
#include "lab/bench/topic.h"

namespace onceward::soak {
namespace {

using namespace std::chrono_literals;
using WallClock = std::chrono::system_clock;

// The messages of a slice are sent together: a thread that sleeps between any two of them takes
// processor time from what is measured.
constexpr auto slice = 5ms;

}  // namespace

Load::Load(const std::string& bootstrap_servers, std::string topic, const Messages& messages,
           double rate, std::chrono::seconds time)
    : topic_(std::move(topic)),
      messages_(messages),
      rate_(rate),
      time_(time),
      thread_([this, bootstrap_servers](const std::stop_token& stop) {
          try {
              send_all(stop, bootstrap_servers);
          } catch (...) {
              failure_ = std::current_exception();
          }
          ended_ = true;
      }) {}

void Load::send(Producer& producer, std::int64_t number) {
    const std::int64_t original = messages_.original(number);
    const std::string key = key_of(original);
    const std::string text = payload(original, WallClock::now());
    const Header header{"Idempotency-Key", key};
    OutgoingRecord record;
    record.topic = topic_;
    record.partition = partition_of(number);
    record.payload = text;
    record.headers = {&header, 1};
    producer.send(record);
}

void Load::send_all(const std::stop_token& stop, const std::string& bootstrap_servers) {
    ProducerOptions options;
    options.bootstrap_servers = bootstrap_servers;
    Producer producer(options);
    const auto begin = WallClock::now();
    const bench::Schedule schedule(begin, rate_);
    const std::int64_t all = schedule.due_by(begin + time_);
    for (auto wakes = begin; sent_ < all && !stop.stop_requested(); wakes += slice) {
        std::this_thread::sleep_until(wakes);
        const std::int64_t due = std::min(schedule.due_by(WallClock::now()), all);
        for (; sent_ < due; ++sent_) send(producer, sent_);
        producer.poll();
    }
    bench::finish(producer);
}

void Load::end() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace onceward::soak
