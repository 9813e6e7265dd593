#include "clients/cpp/client.h"

#include <algorithm>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <variant>

#include "clients/cpp/keys.h"

namespace onceward::client {
namespace {

using std::chrono::milliseconds;

milliseconds now() {
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
}

// Returns false if it was stopped.
bool waited(milliseconds pause, const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ended;
    ended.wait_for(lock, stop, pause, [] { return false; });
    return !stop.stop_requested();
}

// DANGER: what does not begin with a slash would continue with the name of the host.
void check_target(const std::string& target) {
    if (!target.starts_with('/') || target.starts_with("//")) {
        throw std::invalid_argument("a target is a path that begins with one slash, and its query");
    }
}

// DANGER: a control character would end the header and begin another.
void check_headers(const Headers& headers) {
    const auto control = [](char c) { return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7F; };
    for (const auto& [name, value] : headers) {
        const bool named = !name.empty() && name.find_first_of(" \t:") == std::string::npos;
        if (!named || std::ranges::any_of(name, control) || std::ranges::any_of(value, control)) {
            throw std::invalid_argument("not a header: " + name);
        }
    }
}

// The state of a call after its attempts.
struct Progress {
    int failures = 0;
    int waits = 0;
    bool in_doubt = false;
    int attempts() const { return failures + waits; }
};

// How long the next attempt must wait; nullopt if there will be no answer.
std::optional<milliseconds> next_pause(const Retries& retries, Verdict verdict,
                                       Progress& progress,
                                       std::optional<milliseconds> retry_after) {
    if (retry_after && *retry_after > retries.retry_after_max) return std::nullopt;
    switch (verdict) {
        case Verdict::done:
        case Verdict::refused: return std::nullopt;
        case Verdict::in_flight:
            if (++progress.waits > retries.in_flight_waits) return std::nullopt;
            return in_flight_pause(retries, retry_after);
        case Verdict::again:
            if (++progress.failures >= retries.attempts) return std::nullopt;
            return pause(retries, progress.failures, retry_after);
    }
    return std::nullopt;
}

}  // namespace

Client::Client(std::string base_url, Options options, std::unique_ptr<Transport> transport)
    : base_url_(std::move(base_url)),
      options_(std::move(options)),
      transport_(std::move(transport)) {
    if (base_url_.ends_with('/')) base_url_.pop_back();
    if (!options_.warn) {
        options_.warn = [](const std::string& text) { std::cerr << text << '\n'; };
    }
}

Answer Client::send(const Request& request, const std::stop_token& stop) {
    Sending sent = sending(request);
    const Key key = key_of(request);
    const std::string written = options_.bare_keys ? key.text : '"' + key.text + '"';
    sent.headers.emplace_back(options_.key_header, written);
    Progress progress{.in_doubt = key.in_doubt};
    while (true) {
        const int attempts = progress.attempts() + 1;
        const auto outcome = transport_->send(sent);
        std::optional<milliseconds> wait;
        if (const auto* nothing = std::get_if<NoResponse>(&outcome)) {
            progress.in_doubt = progress.in_doubt || nothing->sent;
            wait = next_pause(options_.retries, Verdict::again, progress, std::nullopt);
            if (!wait) {
                throw ConnectionFailed("no answer: " + nothing->reason, key.text, attempts, false);
            }
        } else {
            const Response& response = std::get<Response>(outcome);
            Answer answer{
                .status = response.status,
                .headers = response.headers,
                .body = response.body,
                .replayed = parse_replayed(header_of(response.headers, "Idempotent-Replayed")),
                .key = key.text,
                .attempts = attempts};
            std::optional<Problem> problem = parse_problem(answer);
            const std::string name = problem ? problem->name() : "";
            const auto retry_after =
                parse_retry_after(header_of(response.headers, "Retry-After"),
                                  std::chrono::duration_cast<std::chrono::seconds>(now()));
            const Verdict verdict = judge({answer.status, answer.replayed, name, retry_after});
            progress.in_doubt = progress.in_doubt || leaves_doubt(answer.status);
            const bool settled = settles(answer.status, answer.replayed, progress.in_doubt);
            if (settled && request.operation && options_.store != nullptr) {
                forget(*request.operation, key.text);
            }
            if (verdict == Verdict::done) return answer;
            wait = next_pause(options_.retries, verdict, progress, retry_after);
            if (!wait) throw_problem(std::move(answer), std::move(problem), settled);
        }
        if (!waited(*wait, stop)) {
            throw Stopped("stopped while it waited", key.text, attempts, false);
        }
    }
}

// DANGER: stored before it is sent.
Client::Key Client::key_of(const Request& request) {
    if (request.key) judge_key(*request.key);
    const std::string minted = request.key ? *request.key : mint_key(options_.uuid7);
    if (!request.operation) return {minted, request.key.has_value()};
    if (options_.store == nullptr) {
        throw std::invalid_argument(
            "an operation's key is kept in a store, and this client has none");
    }
    const Entry made{.operation = *request.operation,
                     .key = minted,
                     .fingerprint = fingerprint_of(request.method, request.target, request.body),
                     .created_at = now()};
    const Entry found = options_.store->claim(made);
    const std::string name = "the operation '" + made.operation + "'";
    if (found.fingerprint != made.fingerprint || (request.key && found.key != minted)) {
        throw OperationChanged(name + " was begun with another request or key", found.key, 0,
                               false);
    }
    if (made.created_at - found.created_at >= options_.retention) {
        throw OperationExpired("the key of " + name + " is older than it is remembered", found.key,
                               0, false);
    }
    return {found.key, request.key || found.key != minted};
}

// The answer is there, and worth more than the store's trouble: an entry that stays is answered
// with the same again, or is too old one day.
void Client::forget(const std::string& operation, const std::string& key) try {
    options_.store->forget(operation, key);
} catch (const StoreFailed& error) {
    options_.warn(std::string("a key that has ended stays in its store: ") + error.what());
}

void Client::judge_key(const std::string& key) {
    check_key(key);
    const std::string why = weakness(key, std::exchange(previous_key_, key));
    if (!why.empty()) options_.warn("weak idempotency key: " + why);
}

// All but the key; what cannot be sent is refused here, before a key is stored.
Sending Client::sending(const Request& request) const {
    check_target(request.target);
    Sending made{.method = request.method,
                 .url = base_url_ + request.target,
                 .headers = options_.headers,
                 .body = request.body,
                 .timeout = options_.timeout};
    made.headers.insert(made.headers.end(), request.headers.begin(), request.headers.end());
    if (!header_of(made.headers, options_.key_header).empty()) {
        throw std::invalid_argument(options_.key_header +
                                    " is the client's own: give Request::key instead");
    }
    if (!request.content_type.empty()) {
        made.headers.emplace_back("Content-Type", request.content_type);
    }
    check_headers(made.headers);
    return made;
}

}  // namespace onceward::client
