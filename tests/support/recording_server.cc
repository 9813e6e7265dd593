#include "tests/support/recording_server.h"

#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

constexpr int threads = 32;

std::string lower(std::string text) {
    for (char& letter : text) {
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    return text;
}

std::unique_ptr<httplib::Server> make_server(
    const std::optional<std::filesystem::path>& certificates) {
    if (!certificates) return std::make_unique<httplib::Server>();
    // Key and chain are in one file.
    const std::string file = (*certificates / "server.pem").string();
    return std::make_unique<httplib::SSLServer>(file.c_str(), file.c_str());
}

}  // namespace

struct RecordingServer::State {
    Answer answer;
    std::unique_ptr<httplib::Server> server;
    bool tls = false;
    int port = 0;
    mutable std::mutex mutex;
    std::vector<RecordedCall> calls;
    std::map<std::string, int> counts;
    int at_once = 0;
    int most_at_once = 0;
    std::thread thread;

    void handle(const httplib::Request& request, httplib::Response& response) {
        RecordedCall call{request.method, request.path, {}, request.body};
        for (const auto& [name, value] : request.headers) {
            call.headers.emplace(lower(name), value);
        }
        int number = 0;
        {
            const std::lock_guard lock(mutex);
            calls.push_back(call);
            number = ++counts[call.header("idempotency-key")];
            most_at_once = std::max(most_at_once, ++at_once);
        }
        const RecordedAnswer answered = answer(call, number);
        response.status = answered.status;
        for (const auto& [name, value] : answered.headers) response.set_header(name, value);
        if (answered.cut_off) {
            response.set_content_provider(
                answered.body.size() + 1, "text/plain",
                [](std::size_t, std::size_t, httplib::DataSink&) { return false; });
        } else {
            response.set_content(answered.body, "text/plain");
        }
        const std::lock_guard lock(mutex);
        --at_once;
    }
};

RecordingServer::RecordingServer(Answer answer,
                                 const std::optional<std::filesystem::path>& certificates)
    : state_(std::make_unique<State>()) {
    state_->answer = std::move(answer);
    state_->server = make_server(certificates);
    state_->tls = certificates.has_value();
    httplib::Server& server = *state_->server;
    if (!server.is_valid()) throw std::runtime_error("the recording server has no certificate");
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    const auto handle = [state = state_.get()](const httplib::Request& request,
                                               httplib::Response& response) {
        state->handle(request, response);
    };
    server.Post(".*", handle);
    server.Put(".*", handle);
    server.Get(".*", handle);
    state_->port = server.bind_to_any_port("127.0.0.1");
    if (state_->port <= 0) throw std::runtime_error("the recording server has no port");
    state_->thread = std::thread([&server] { server.listen_after_bind(); });
    if (!eventually(std::chrono::seconds(10), [&] { return server.is_running(); })) {
        throw std::runtime_error("the recording server does not listen");
    }
}

RecordingServer::~RecordingServer() {
    state_->server->stop();
    state_->thread.join();
}

int RecordingServer::port() const { return state_->port; }

std::string RecordingServer::url() const {
    const std::string host = "127.0.0.1:" + std::to_string(state_->port);
    return (state_->tls ? "https://" : "http://") + host + "/hook";
}

std::vector<RecordedCall> RecordingServer::calls() const {
    const std::lock_guard lock(state_->mutex);
    return state_->calls;
}

std::map<std::string, int> RecordingServer::counts() const {
    const std::lock_guard lock(state_->mutex);
    return state_->counts;
}

int RecordingServer::most_at_once() const {
    const std::lock_guard lock(state_->mutex);
    return state_->most_at_once;
}

}  // namespace onceward::support
