#pragma once
// Those who send requests under keys to the routes of a seed's workers: each sends a request until
// it is told what became of it, whatever kills, cuts and time-outs are between, to one worker and
// to another, some at once and some under the key of another body. A thread for each client, until
// finish(); used by one other thread.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/campaign/plan.h"
#include "tests/faults/campaign/request_log.h"

namespace onceward::campaign {

// What a client's route has for a request: its path is the key's part before the slash; of the last
// one the whole key, so that the upstream tells whose call it is.
inline constexpr const char* function_route = "charges";  // answers with the number of the effect
inline constexpr const char* table_route = "entries";     // has no answer but its status
inline constexpr const char* upstream_route = "calls";    // has the upstream's
// Where the requests with that key go.
std::string path_of(const std::string& key);

class RequestClients {
  public:
    // `doors`: the ports of the workers, some of which nobody may listen at.
    RequestClients(const Plan& plan, std::vector<std::uint16_t> doors,
                   const std::filesystem::path& list);
    ~RequestClients();
    RequestClients(const RequestClients&) = delete;
    RequestClients& operator=(const RequestClients&) = delete;

    // Nothing is in the way any more: sends what is open until it is told, and some of the rest
    // once more. Answers with the keys that were told nothing before the limit. The list is
    // complete.
    std::vector<std::string> finish(std::chrono::milliseconds limit);

  private:
    class Client;
    std::vector<std::uint16_t> doors_;
    RequestLog log_;
    std::atomic<int> shared_keys_{0};
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<std::jthread> threads_;  // the last member: they use the others
};

}  // namespace onceward::campaign
