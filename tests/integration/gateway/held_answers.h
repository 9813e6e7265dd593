#pragma once
// A handler of the server that keeps the answers of requests until the test gives them.
// Thread-safe. It has to outlive the server.

#include <mutex>
#include <vector>

#include "gateway/http/server.h"

namespace onceward::support {

class HeldAnswers {
  public:
    HttpServer::Handler handler() {
        return [this](const HttpRequest&, HttpServer::Answer answer) {
            const std::lock_guard lock(mutex_);
            answers_.push_back(std::move(answer));
        };
    }
    std::size_t count() {
        const std::lock_guard lock(mutex_);
        return answers_.size();
    }
    void release_all(const HttpResponse& response = {}) {
        const std::lock_guard lock(mutex_);
        for (auto& answer : answers_) answer(response);
        answers_.clear();
    }

  private:
    std::mutex mutex_;
    std::vector<HttpServer::Answer> answers_;
};

}  // namespace onceward::support
