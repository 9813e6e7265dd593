#include "cli/admin/admin_server.h"

#include <curl/curl.h>

#include <chrono>
#include <condition_variable>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cli/admin/work_thread.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutex.h"
#include "dedup/message/digest.h"
#include "gateway/http/log_gate.h"
#include "gateway/http/server.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr const char* process_header = "Onceward-Process";
constexpr const char* json_type = "application/json";
constexpr std::size_t most_acts = 8;  // that wait
constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

// A request here has few bytes, which arrive at once. A client that sends them one by one holds one
// connection for this long, and does not delay the others.
ServerOptions server_options(const ListenAddress& address, const AdminConfiguration& access) {
    ServerOptions options;
    options.host = address.host;
    options.port = address.port;
    options.certificate_file = access.certificate_file;
    options.key_file = access.key_file;
    options.client_ca_file = access.client_ca_file;
    options.limits.body_bytes = 64 * 1024;
    options.limits.header_bytes = 8 * 1024;
    options.limits.connections = 256;
    options.limits.request_time = 5s;
    options.limits.idle_time = 5s;
    return options;
}

HttpResponse plain_response(int status, const char* text) {
    return {.status = status, .headers = {{"Content-Type", "text/plain"}}, .body = text};
}

// What the source returns, or a response that says that there is no answer.
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

HttpResponse json_response(const nlohmann::json& json) {
    return {.status = 200,
            .headers = {{"Content-Type", json_type}, {"Cache-Control", "no-store"}},
            .body = json.dump()};
}

// The verdicts come from memory, and are given in the server's own thread. The metrics may ask
// PostgreSQL, and have a thread of their own, so that no verdict waits for them.
struct AdminServer::State {
    State(const ListenAddress& address, Sources from)
        : sources(std::move(from)),
          access(sources.access, is_loopback(address)),
          server(server_options(address, sources.access),
                 [this](const HttpRequest& request, HttpServer::Answer answer) {
                     handle(request, std::move(answer));
                 }) {}
    ~State() {
        thread.request_stop();
        if (thread.joinable()) thread.join();
    }

    void handle(const HttpRequest& request, HttpServer::Answer answer) {
        const std::string_view path = path_of(request.target);
        const bool api = path.starts_with("/api/");
        if (api && request.method == "POST") return act(request, std::move(answer));
        if (request.method != "GET" && request.method != "HEAD") {
            HttpResponse response = plain_response(405, api ? "GET or POST\n" : "GET alone\n");
            response.headers.emplace_back("Allow", api ? "GET, HEAD, POST" : "GET, HEAD");
            return answer(std::move(response));
        }
        if (path == "/livez") return answer(signed_by_me(sources.live));
        if (path == "/readyz") return answer(signed_by_me(sources.ready));
        const bool metrics = path == "/metrics";
        // The page's own files hold nothing about the group, so they need no credentials.
        const bool page_file = sources.page && (path == "/" || path.starts_with("/assets/"));
        if (!page_file && (!metrics || access.metrics_need_look())) {
            const auto caller = access.admit(request, AdminRole::look);
            if (const auto* refusal = std::get_if<AdminRefusal>(&caller)) {
                return refuse(request, *refusal, answer);
            }
            if (path == "/api/caller") return answer(describe(std::get<AdminCaller>(caller)));
        }
        if (!metrics) {
            if (sources.page && sources.page(request, answer)) return;
            return answer(plain_response(404, "not here\n"));
        }
        const MutexLock lock(mutex);
        waiting.push_back(std::move(answer));
        wake.notify_all();
    }

    // Who is asking, and what a page may offer them.
    HttpResponse describe(const AdminCaller& caller) const {
        const bool operates = caller.role == AdminRole::operate && sources.act;
        return json_response(
            {{"who", caller.who}, {"role", to_text(caller.role)}, {"may_act", operates}});
    }

    // Never log the token itself: it may be a valid one with a single wrong letter.
    void refuse(const HttpRequest& request, const AdminRefusal& refusal,
                const HttpServer::Answer& answer) {
        if (const auto kept_back = refused_lines.pass()) {
            log_warning("admin.refused", {{"address", request.address},
                                          {"method", request.method},
                                          {"status", refusal.status},
                                          {"detail", refusal.detail},
                                          {"kept_back", *kept_back}});
        }
        answer(to_response(refusal));
    }

    void act(const HttpRequest& request, HttpServer::Answer answer) {
        auto caller = access.admit(request, AdminRole::operate);
        if (const auto* refusal = std::get_if<AdminRefusal>(&caller)) {
            return refuse(request, *refusal, answer);
        }
        const std::string path(path_of(request.target));
        if (!sources.act) return answer(to_response(no_act(path)));
        const auto type = only_value(request.headers, "Content-Type");
        if (!type || type->substr(0, type->find(';')) != json_type) {
            return answer(to_response(
                {415, "JSON alone", "Send the header `Content-Type: application/json`."}));
        }
        AdminAct wanted{
            path, request.body, std::get<AdminCaller>(std::move(caller)), request.address, {}};
        const auto latest = std::chrono::steady_clock::now() + sources.act_patience;
        WorkThread& thread_of_it = path == "/api/pause" || path == "/api/resume" ? brakes : acts;
        const bool taken =
            thread_of_it.post([this, wanted, answer, latest](const std::stop_token& stop) mutable {
                // Its caller may have given up, and may have decided otherwise since.
                if (std::chrono::steady_clock::now() > latest) {
                    return answer(to_response({503, "Busy",
                                               "Another act took too long, and this one was not "
                                               "begun; try again."}));
                }
                wanted.stopped = [stop] { return stop.stop_requested(); };
                answer(answer_of([&] { return sources.act(wanted); }));
            });
        if (!taken) {
            answer(to_response({503, "Busy", "Several acts are waiting already; try again."}));
        }
    }
    static AdminRefusal no_act(const std::string& path) {
        return {404, "No such act", "There is no " + path + " here."};
    }

    // The header shows if another process holds the port that this one was expected to have.
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

    // All waiting requests share what is read for them.
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
    const AdminAccess access;
    LogGate refused_lines;  // of the server's thread
    Mutex mutex;
    std::condition_variable_any wake;
    HttpServer server;
    // For the metrics. They hold connections of the server, and end before it.
    std::vector<HttpServer::Answer> waiting ONCEWARD_GUARDED_BY(mutex);
    std::jthread thread;
    WorkThread acts{most_acts};
    WorkThread brakes{most_acts};  // pause and resume: they are quick, and must not wait for others
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
    // Gives what is under way a moment; its sources live until this has returned.
    state_->acts.request_stop();
    state_->brakes.request_stop();
    state_->server.stop(500ms);
}

std::string name_of(const std::string& group) { return hex(digest_of_bytes(group)); }

AdminAnswer ask_admin_port(const ListenAddress& address, const std::string& path,
                           std::chrono::milliseconds timeout, bool tls) {
    // A process that listens on all addresses is reached on the loopback.
    const bool everywhere = address.host == "0.0.0.0" || address.host == "::";
    const ListenAddress asked{everywhere ? "127.0.0.1" : address.host, address.port};
    const std::string url = (tls ? "https://" : "http://") + to_text(asked) + path;
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
    curl_easy_setopt(raw, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(raw, CURLOPT_SSL_VERIFYHOST, 0L);
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
