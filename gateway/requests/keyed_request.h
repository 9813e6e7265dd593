#pragma once
// A request that passed all checks of the front door, and what carries it out. Thread-safety: see
// RequestTarget.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dedup/message/digest.h"
#include "gateway/http/http.h"
#include "gateway/http/problem.h"
#include "gateway/requests/answers.h"
#include "gateway/requests/key_status.h"

namespace onceward {

// A request that passed all checks, on its way to a sink.
struct KeyedRequest {
    std::size_t route = 0;  // its place in GatewayOptions::routes
    HttpRequest request;
    std::vector<std::pair<std::string, std::string>> parameters;  // of the path
    // Both as a record has them (record_headers()). A bulk's items share it, and have no others.
    std::shared_ptr<const HttpHeaders> head;
    std::string tenant;
    std::string key;  // '' where the route goes without one
    Digest digest;    // of the key in its scope; a random one where there is none
    std::optional<Digest> fingerprint;
};
using KeyedOutcome = std::variant<KeyedAnswer, Problem>;

// Carries requests out. Thread-safe.
class RequestTarget {
  public:
    // Called once for each request, by its place among those that were submitted together; from
    // any thread.
    using Then = std::function<void(std::size_t place, KeyedOutcome outcome)>;
    virtual ~RequestTarget() = default;
    // All of them in one transaction, as far as none of them is refused.
    virtual void submit(std::vector<KeyedRequest> requests, Then then) = 0;
    // Reports what became of the key's request, once; from any thread.
    virtual void look(std::size_t route, const Digest& key,
                      std::function<void(StatusOutcome)> then);
};

}  // namespace onceward
