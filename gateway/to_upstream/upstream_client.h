#pragma once
// How an upstream is called. The gateway knows no HTTP client: the composition root implements this
// with the webhook's. Used by one thread; what the other side does is in the answer.

#include <chrono>
#include <optional>
#include <string>

#include "dedup/message/digest.h"
#include "gateway/http/http.h"

namespace onceward {

struct UpstreamCall {
    std::string method;
    std::string target;   // path and query, to be appended to the upstream's address
    HttpHeaders headers;  // the client's, those that go along
    std::string body;
    Digest key;  // what the downstream key is derived from: the same for each try
};

struct UpstreamAnswer {
    // 0: no whole answer came.
    int status = 0;
    // Whether any of the request was sent: if not, it surely has had no effect.
    bool carried = false;
    bool too_large = false;  // the body was cut off and is not here
    HttpHeaders headers{};
    std::string body{};
    std::string failure{};  // of status 0, for the log; without the request's own words
};

class UpstreamClient {
  public:
    virtual ~UpstreamClient() = default;
    // REQUIRES: none is under way.
    virtual void begin(UpstreamCall call) = 0;
    // Returns nullopt if it has not ended within `most`. It ends within the upstream's time-out.
    virtual std::optional<UpstreamAnswer> wait(std::chrono::milliseconds most) = 0;
};

}  // namespace onceward
