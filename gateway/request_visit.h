#pragma once
// The inside of the front door, for its own files alone: a route with what it remembers, and a
// request on its way. A visit belongs to one thread at a time, and is handed on whole.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dedup/base/logging.h"
#include "dedup/base/mutex.h"
#include "gateway/front_door.h"
#include "gateway/http/log_gate.h"

namespace onceward {

// A route, and what it remembers.
struct FrontDoor::Route {
    Route(const RouteOptions& route, std::size_t at) : options(route), place(at) {}
    const RouteOptions& options;
    std::size_t place;
    std::size_t traffic = 0;   // its place in Traffic
    bool asks_status = false;  // its path is where a key's status is queried
    LogGate full_lines, unauthorized_lines;
    Mutex mutex;
    std::optional<TokenBuckets> tenants ONCEWARD_GUARDED_BY(mutex);
    std::optional<TokenBuckets> keys ONCEWARD_GUARDED_BY(mutex);
    RoutePattern pattern() const {
        return asks_status ? RoutePattern{"GET", options.status_path} : options.pattern;
    }
};

// A request on its way.
struct FrontDoor::Visit {
    HttpRequest request;
    Answer answer;
    Traffic* traffic = nullptr;
    bool under_way = false;  // counted among its route's requests
    bool access_log = false;
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    Route* route = nullptr;  // null if no route matches
    std::vector<std::pair<std::string, std::string>> parameters;
    std::map<std::string, std::string> claims;
    std::string tenant;
    std::optional<RequestKey> key;
    Tracer* tracer = nullptr;
    std::optional<TraceSpan> span;  // if its trace is recorded

    const RouteOptions& options() const { return route->options; }
    void refuse(const Problem& problem) { respond(to_response(problem)); }
    // A refusal carries the key too, so that the client knows which request it is about.
    void respond(HttpResponse response) {
        if (key && !key->written.empty()) {
            response.headers.emplace_back(options().key.header, key->written);
        }
        const std::optional<std::size_t> place =
            route == nullptr ? std::nullopt : std::optional(route->traffic);
        const auto took = std::chrono::steady_clock::now() - begun;
        if (under_way) traffic->end(*place);
        under_way = false;
        traffic->count(place, response, took);
        if (access_log) write_access(response, took);
        if (span) end_trace(response);
        answer(std::move(response));
    }
    // Refuses a token or a signature. `reason` is logged, so it holds nothing that the client sent.
    void unauthorized(const Problem& problem, std::string_view reason) {
        if (const auto kept_back = route->unauthorized_lines.pass()) {
            log_warning("http.unauthorized", {{"route", operation_of(route->pattern())},
                                              {"reason", reason},
                                              {"kept_back", *kept_back}});
        }
        refuse(problem);
    }
    void end_trace(const HttpResponse& response) {
        span->add("http.response.status_code", std::int64_t{response.status});
        span->add("onceward.replayed", response.replayed);
        // A client's mistake is not an error of the server.
        if (response.status >= 500) span->fail(std::to_string(response.status));
        tracer->end(std::move(*span));
        span.reset();
    }
    // Logs neither the target nor a header: both may hold secrets.
    void write_access(const HttpResponse& response,
                      std::chrono::steady_clock::duration took) const {
        const std::string name = route == nullptr ? "" : operation_of(route->pattern());
        const std::chrono::duration<double, std::milli> milliseconds = took;
        log_info("http.request", {{"route", name},
                                  {"status", response.status},
                                  {"milliseconds", milliseconds.count()},
                                  {"replayed", response.replayed}});
    }
};

// The problem that a fault of a key becomes.
ProblemKind problem_of(KeyFault fault);

}  // namespace onceward
