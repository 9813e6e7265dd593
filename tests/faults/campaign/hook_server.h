#pragma once
// The other side of a seed's webhooks, and of its routes to an upstream: an HTTP server on
// 127.0.0.1 that writes down each call, one JSON object a line as
// tests/faults/checker/produced_list.h has it. Some calls it refuses for now, answers too late, or
// takes without a word: by the seed, the call's key and its number. Some keys it refuses for good.
// One thread, which ends with the object; used by one other thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tests/faults/campaign/plan.h"

namespace onceward::campaign {

struct HookCall {
    std::size_t topic = 0;
    std::string request;  // the key of the request that was called on; else a message was
    std::string worker;
    std::string key;
    std::string body;
};
// The request in these bytes; none if more are to come. Anything else than a worker's call is a
// std::runtime_error or std::invalid_argument.
std::optional<HookCall> hook_call(const std::string& bytes);

struct HookAnswer {
    int status = 200;  // 0: the connection ends without an answer
    milliseconds after{0};
};
// What a key is told in the end, the same each time: 200, or that it is refused for good.
int hook_outcome(std::uint64_t seed, const std::string& key);
// `number`: 1 for the first call of that key. What fails for now has to pass by the third time.
HookAnswer hook_answer(std::uint64_t seed, const std::string& key, int number);

class HookServer {
  public:
    // Throws std::runtime_error where it cannot listen.
    HookServer(const Plan& plan, const std::filesystem::path& calls);
    ~HookServer();
    HookServer(const HookServer&) = delete;
    HookServer& operator=(const HookServer&) = delete;

    int port() const;
    // Takes no more calls; all that came are in the file. Throws what went wrong.
    void finish();

  private:
    struct Peers;
    void run(const std::stop_token& stop);
    void read_all();
    void answer_due();
    void write_down(std::size_t peer, int status);

    const Plan& plan_;
    std::ofstream file_;
    std::unique_ptr<Peers> peers_;
    std::map<std::string, int> numbers_;  // calls of each key
    std::string failure_;
    std::jthread thread_;
};

}  // namespace onceward::campaign
