#pragma once
// An HTTP server on 127.0.0.1 that writes down each call and answers as it is told: what the
// webhook's tests call. Thread-safe; stops with the object. With certificates it speaks TLS.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace onceward::support {

struct RecordedCall {
    std::string method;
    std::string path;
    std::multimap<std::string, std::string> headers;  // names in lower case
    std::string body;
    // The first header of that name; '' where there is none.
    std::string header(const std::string& name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? "" : found->second;
    }
};

struct RecordedAnswer {
    int status = 200;
    std::multimap<std::string, std::string> headers = {};
    std::string body = "";
    // The connection ends before the body's first byte.
    bool cut_off = false;
};

class RecordingServer {
  public:
    // `answer` is called in the server's threads, `call` being 1 for the first call of its
    // Idempotency-Key.
    using Answer = std::function<RecordedAnswer(const RecordedCall& request, int call)>;
    explicit RecordingServer(
        Answer answer, const std::optional<std::filesystem::path>& certificates = std::nullopt);
    ~RecordingServer();
    RecordingServer(const RecordingServer&) = delete;

    int port() const;
    // http://127.0.0.1:PORT/hook, or https.
    std::string url() const;
    std::vector<RecordedCall> calls() const;
    // By the Idempotency-Key.
    std::map<std::string, int> counts() const;
    // The most that were under way at once.
    int most_at_once() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward::support
