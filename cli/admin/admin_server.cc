#include "cli/admin/admin_server.h"

#include <curl/curl.h>

#include <condition_variable>
#include <thread>
#include <vector>

#include "dedup/base/logging.h"
#include "dedup/base/mutex.h"
#include "dedup/message/digest.h"
#include "gateway/http/server.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr const char* process_header = "Onceward-Process";
constexpr const char* json_type = "application/json";
constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

// A request here has few bytes, which arrive at once. A client that sends them one by one holds one
// connection for this long, and does not delay the others.
ServerOptions server_options(const ListenAddress& address) {
    ServerOptions options;
    options.host = address.host;
    options.port = address.port;
    options.limits.body_bytes = 1024;
    options.limits.header_bytes = 8 * 1024;
    options.limits.connections = 256;
    options.limits.request_time = 5s;
    options.limits.idle_time = 5s;
    return options;
}

HttpResponse plain_response(int status, const char* text) {
    return {.status = status, .headers = {{"Content-Type", "text/plain"}}, .body = text};
}

// What the source gives, or that there is no answer.
HttpResponse answer_of(const std::function<HttpResponse()>& source) try {
    return source();
} catch (const std::exception& error) {
    log_error("admin.internal", {{"error", error.what()}});
    return plain_response(500, "no answer\n");
}

std::size_t take_bytes(char* data, std::size_t, std::size_t count, void* into) {
    static_cast<std::string*>(into)->append(data, count);
    return count;
}

}  // namespace

// The verdicts come from memory, and are given in the server's own thread. The metrics may ask
// PostgreSQL, and have a thread of their own, so that no verdict waits for them.
struct AdminServer::State {
    State(const ListenAddress& address, Sources from)
        : sources(std::move(from)),
          server(server_options(address),
                 [this](const HttpRequest& request, HttpServer::Answer answer) {
                     handle(request, std::move(answer));
                 }) {}
    ~State() {
        thread.request_stop();
        if (thread.joinable()) thread.join();
    }

    void handle(const HttpRequest& request, HttpServer::Answer answer) {
        const std::string_view path = path_of(request.target);
        if (request.method != "GET" && request.method != "HEAD") {
            HttpResponse response = plain_response(405, "GET alone\n");
            response.headers.emplace_back("Allow", "GET, HEAD");
            return answer(std::move(response));
        }
        if (path == "/livez") return answer(signed_by_me(sources.live));
        if (path == "/readyz") return answer(signed_by_me(sources.ready));
        if (path != "/metrics") {
            if (sources.page && sources.page(request, answer)) return;
            return answer(plain_response(404, "not here\n"));
        }
        const MutexLock lock(mutex);
        waiting.push_back(std::move(answer));
        wake.notify_all();
    }

    // Another process may hold the port that one expects to have itself.
    HttpResponse signed_by_me(const std::function<HealthVerdict()>& source) const {
        HttpResponse response = answer_of([&] {
            const HealthVerdict verdict = source();
            return HttpResponse{.status = verdict.good() ? 200 : 503,
                                .headers = {{"Content-Type", json_type}},
                                .body = to_json(verdict)};
        });
        response.headers.emplace_back(process_header, name_of(sources.group));
        return response;
    }

    // All that wait share what is read for them.
    void answer_metrics(const std::stop_token& stop) {
        MutexLock lock(mutex);
        const auto work = [this]() ONCEWARD_REQUIRES(mutex) { return !waiting.empty(); };
        while (wake.wait(lock, stop, work)) {
            std::vector<HttpServer::Answer> answers;
            answers.swap(waiting);
            lock.unlock();
            const HttpResponse response = answer_of([this] {
                return HttpResponse{.status = 200,
                                    .headers = {{"Content-Type", metrics_type}},
                                    .body = sources.metrics()};
            });
            for (const HttpServer::Answer& answer : answers) answer(response);
            lock.lock();
        }
    }

    Sources sources;
    Mutex mutex;
    std::condition_variable_any wake;
    HttpServer server;
    // For the metrics. They hold connections of the server, and end before it.
    std::vector<HttpServer::Answer> waiting ONCEWARD_GUARDED_BY(mutex);
    std::jthread thread;
};

AdminServer::AdminServer(const ListenAddress& address, Sources sources) try
    : address_(address), state_(std::make_unique<State>(address, std::move(sources))) {
    address_.port = state_->server.port();
    state_->thread = std::jthread(
        [state = state_.get()](const std::stop_token& stop) { state->answer_metrics(stop); });
    state_->server.start();
} catch (const ServerError& error) {
    throw AdminError(error.what());
}

AdminServer::~AdminServer() {
    // A moment for what is under way; its sources live until this has returned.
    state_->server.stop(500ms);
}

std::string name_of(const std::string& group) { return hex(digest_of_bytes(group)); }

AdminAnswer ask_admin_port(const ListenAddress& address, const std::string& path,
                           std::chrono::milliseconds timeout) {
    // Who listens everywhere is reached here.
    const bool everywhere = address.host == "0.0.0.0" || address.host == "::";
    const ListenAddress asked{everywhere ? "127.0.0.1" : address.host, address.port};
    const std::string url = "http://" + to_text(asked) + path;
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                     &curl_easy_cleanup);
    if (!handle) throw AdminError("libcurl cannot be initialised");
    AdminAnswer answer;
    CURL* raw = handle.get();
    curl_easy_setopt(raw, CURLOPT_URL, url.c_str());
    curl_easy_setopt(raw, CURLOPT_PROXY, "");
    curl_easy_setopt(raw, CURLOPT_WRITEFUNCTION, &take_bytes);
    curl_easy_setopt(raw, CURLOPT_WRITEDATA, &answer.body);
    curl_easy_setopt(raw, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    curl_easy_setopt(raw, CURLOPT_NOSIGNAL, 1L);
    const CURLcode code = curl_easy_perform(raw);
    if (code == CURLE_COULDNT_CONNECT) {
        throw AdminError("nothing listens at " + to_text(address) +
                         ": the process does not run, or its `admin.listen` is different");
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
        throw AdminError("whatever listens at " + to_text(address) + " has not answered within " +
                         std::to_string(timeout.count()) + " ms");
    }
    if (code != CURLE_OK) {
        throw AdminError("no answer from " + to_text(address) + path + ": " +
                         curl_easy_strerror(code));
    }
    curl_header* name = nullptr;
    if (curl_easy_header(raw, process_header, 0, CURLH_HEADER, -1, &name) == CURLHE_OK) {
        answer.process = name->value;
    }
    long status = 0;
    curl_easy_getinfo(raw, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    return answer;
}

}  // namespace onceward
