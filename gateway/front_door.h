#pragma once
// A request's way through the front door: route, signature, token, tenant, key, rate limits, and
// then its route's target. Thread-safe: requests come from the server's thread, and continue in
// those of the key set and of the targets. Answers each request once; a fault of ours is a 500 and
// a line in the log, never an exception.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dedup/trace/tracer.h"
#include "gateway/checks/key_set_cache.h"
#include "gateway/requests/keyed_request.h"
#include "gateway/requests/route_options.h"
#include "gateway/requests/route_traffic.h"

namespace onceward {

class FrontDoor {
  public:
    using Answer = std::function<void(HttpResponse)>;
    // They outlive the front door. A part that no route needs may be null.
    struct Parts {
        TopicWriter* topics = nullptr;
        RequestTarget* keyed = nullptr;  // of the routes to sinks and to upstreams
        KeySetCache* keys = nullptr;
        FieldsDigest fields = {};  // of routes with fingerprint_fields
        Tracer* tracer = nullptr;
    };
    // REQUIRES: the options were checked (cli/configuration/).
    FrontDoor(GatewayOptions options, Parts parts);
    ~FrontDoor();

    void handle(HttpRequest request, Answer answer);
    // Counts an answer that the server gave by itself, to what never became a request.
    void refused_by_server(int status);
    // What was answered so far; the last entry is for requests that match no route.
    std::vector<RouteTraffic> traffic() const { return traffic_.read(); }

  private:
    struct Route;
    struct Visit;
    using VisitPointer = std::shared_ptr<Visit>;

    void begin_trace(Visit& visit) const;
    static void refuse_as_full(Visit& visit);
    bool check_signature(Visit& visit) const;
    // `left`: see KeySetCache; nullopt: the cache was not asked for newer keys yet.
    void check_token(const VisitPointer& visit,
                     std::optional<std::chrono::milliseconds> left = std::nullopt);
    void continue_checked(const VisitPointer& visit);
    bool read_tenant(Visit& visit) const;
    bool read_key(Visit& visit) const;
    bool within_rates(Visit& visit);
    // How long until the tenant may send again; nullopt if it may now, and this request was
    // counted.
    std::optional<std::chrono::seconds> tenant_too_often(Route& route, const std::string& tenant);
    // How long until the key may be sent again; nullopt if it may now.
    std::optional<std::chrono::seconds> key_too_often(Route& route, const std::string& tenant,
                                                      const std::string& key);
    void to_topic(const VisitPointer& visit, const TopicTarget& target);
    // To a sink or an upstream.
    void submit(const VisitPointer& visit);
    void to_sink_in_bulk(const VisitPointer& visit);
    void to_status(const VisitPointer& visit);
    // A request on its way to a sink or an upstream; a problem if its body has no fingerprint.
    std::variant<KeyedRequest, Problem> keyed(const Visit& visit, const std::string& key,
                                              HttpRequest request) const;

    GatewayOptions options_;
    Parts parts_;
    RouteTable table_;
    Traffic traffic_;
    std::vector<std::unique_ptr<Route>> routes_;  // in the table's order
};

}  // namespace onceward
