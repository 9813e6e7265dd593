#include "tests/faults/campaign/request_log.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/faults/campaign/request_clients.h"

namespace onceward::campaign {
namespace {

constexpr const char* any_problem = "/onceward/problems/";
constexpr const char* key_reused = "/onceward/problems/key-reused";

}  // namespace

bool definitive(const RequestAnswer& answer) {
    if (answer.status >= 200 && answer.status < 300) return true;
    if (answer.body.find(key_reused) != std::string::npos) return answer.status == 422;
    // The upstream's own word; all others than 408, 425 and 429, which it does not have, are final.
    return answer.status >= 400 && answer.status < 500 &&
           answer.body.find(any_problem) == std::string::npos;
}

bool called_on(const Request& request) {
    return request.key.starts_with(std::string(upstream_route) + "/");
}

std::int64_t microseconds_now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

RequestLog::RequestLog(const std::filesystem::path& file) : file_(file) {}

void RequestLog::note(const Request& request, const RequestAnswer& answer) {
    nlohmann::json line{{"k", request.key}, {"b", request.body}};
    if (answer.status != 0) line["s"] = answer.status;
    if (answer.replayed) line["r"] = true;
    if (called_on(request)) line["u"] = true;
    if (!answer.body.empty()) line["a"] = answer.body;
    if (answer.sent_us != 0) {
        line["from"] = answer.sent_us;
        line["to"] = microseconds_now();
    }
    const std::lock_guard lock(mutex_);
    file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    sent_.insert(request);
    if (definitive(answer)) decided_.insert(request);
}

std::set<Request> RequestLog::open() const {
    const std::lock_guard lock(mutex_);
    std::set<Request> open;
    std::ranges::set_difference(sent_, decided_, std::inserter(open, open.end()));
    return open;
}

std::set<Request> RequestLog::decided() const {
    const std::lock_guard lock(mutex_);
    return decided_;
}

void RequestLog::close() {
    const std::lock_guard lock(mutex_);
    file_.close();
    if (!file_) throw std::runtime_error("the list of requests cannot be written");
}

}  // namespace onceward::campaign
