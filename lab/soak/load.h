#pragma once
// A thread that sends a soak's messages at a fixed rate, each with its key in the header. It
// catches up if it was late: the rate is that of the whole time. Counts may be read from any
// thread; end() rethrows what ended it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>

#include "consumer/produce/producer.h"
#include "lab/soak/messages.h"

namespace onceward::soak {

class Load {
  public:
    Load(const std::string& bootstrap_servers, std::string topic, const Messages& messages,
         double rate, std::chrono::seconds time);
    ~Load() { thread_.request_stop(); }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    // Handed to the producer.
    std::int64_t sent() const { return sent_; }
    bool ended() const { return ended_; }
    // Waits until the broker has acknowledged all messages.
    void end();

  private:
    void send_all(const std::stop_token& stop, const std::string& bootstrap_servers);
    void send(Producer& producer, std::int64_t number);

    std::string topic_;
    const Messages& messages_;
    double rate_;
    std::chrono::seconds time_;
    std::atomic<std::int64_t> sent_{0};
    std::atomic<bool> ended_{false};
    std::exception_ptr failure_;  // read after the thread has ended
    std::jthread thread_;         // the last one: it uses the others
};

}  // namespace onceward::soak
