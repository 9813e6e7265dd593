#pragma once
// The inside of the front door, for its own files alone: a route with what it remembers, and a
// request on its way. A visit belongs to one thread at a time, and is handed on whole.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/front_door.h"
#include "gateway/problem.h"

namespace onceward {

// A route, and what it remembers.
struct FrontDoor::Route {
    Route(const RouteOptions& route, std::size_t at) : options(route), place(at) {}
    const RouteOptions& options;
    std::size_t place;
    bool asks_status = false;  // of that route's keys
    std::optional<TokenBuckets> tenants;
    std::optional<TokenBuckets> keys;
};

// A request on its way.
struct FrontDoor::Visit {
    HttpRequest request;
    Answer answer;
    Traffic* traffic = nullptr;
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    Route* route = nullptr;  // none: no route is for it
    std::vector<std::pair<std::string, std::string>> parameters;
    std::map<std::string, std::string> claims;
    std::string tenant;
    std::optional<RequestKey> key;

    const RouteOptions& options() const { return route->options; }
    void refuse(const Problem& problem) { respond(to_response(problem)); }
    // Also a refusal says which of the client's requests it is about.
    void respond(HttpResponse response) {
        if (key && !key->written.empty()) {
            response.headers.emplace_back(options().key.header, key->written);
        }
        const std::optional<std::size_t> place =
            route == nullptr ? std::nullopt : std::optional(route->place);
        traffic->count(place, response, std::chrono::steady_clock::now() - begun);
        answer(std::move(response));
    }
};

// What a fault of a key is told as.
ProblemKind problem_of(KeyFault fault);

}  // namespace onceward
