#include "tests/faults/campaign/request_log.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace onceward::campaign {
namespace {

constexpr const char* key_reused = "urn:onceward:problem:key-reused";

}  // namespace

bool definitive(const RequestAnswer& answer) {
    if (answer.status >= 200 && answer.status < 300) return true;
    return answer.status == 422 && answer.body.find(key_reused) != std::string::npos;
}

RequestLog::RequestLog(const std::filesystem::path& file) : file_(file) {}

void RequestLog::note(const Request& request, const RequestAnswer& answer) {
    nlohmann::json line{{"k", request.key}, {"b", request.body}};
    if (answer.status != 0) line["s"] = answer.status;
    if (answer.replayed) line["r"] = true;
    if (!answer.body.empty()) line["a"] = answer.body;
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
