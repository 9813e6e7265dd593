#pragma once
// The list of a seed's requests: each time that one was sent, and what came back, one JSON object a
// line as tests/faults/checker/produced_list.h has it. Thread-safe; close() throws
// std::runtime_error where it could not be written.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace onceward::campaign {

struct Request {
    std::string key;
    // Which of the key's bodies; it stands in the effect's row.
    std::string body;
    auto operator<=>(const Request&) const = default;
};

// Whether its route leads to an upstream.
bool called_on(const Request& request);

struct RequestAnswer {
    int status = 0;  // 0: none came
    bool replayed = false;
    std::string body;
    std::int64_t sent_us = 0;  // when the request went, in microseconds since 1970; 0: not known
};
// A client that gets that need not send the request again.
bool definitive(const RequestAnswer& answer);

// By the clock that the database has as well: both are of this machine.
std::int64_t microseconds_now();

class RequestLog {
  public:
    explicit RequestLog(const std::filesystem::path& file);
    // An answer, or the want of one.
    void note(const Request& request, const RequestAnswer& answer);
    // Those that were sent and got no definitive answer.
    std::set<Request> open() const;
    // Those that got one.
    std::set<Request> decided() const;
    void close();

  private:
    mutable std::mutex mutex_;
    std::ofstream file_;
    std::set<Request> sent_;
    std::set<Request> decided_;
};

}  // namespace onceward::campaign
