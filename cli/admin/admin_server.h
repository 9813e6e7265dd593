#pragma once
// The admin port: /metrics, /livez, /readyz and what is below /api/ over HTTP, for one process's
// operator. Who may do what there is in cli/admin/access.h. start(), stop() and the destructor are
// for one thread; the sources are asked from the server's own threads and must be thread-safe.
// Throws AdminError if the port is not available.

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/admin/access.h"
#include "cli/admin/verdicts.h"
#include "cli/configuration/units.h"

namespace onceward {

class AdminError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A POST below /api/ whose caller may operate.
struct AdminAct {
    std::string path;  // such as `/api/pause`
    std::string body;
    AdminCaller caller;
    std::string address;            // the client's
    std::function<bool()> stopped;  // whether the process ends; a long act has to end then too
};
using AdminActs = std::function<HttpResponse(const AdminAct&)>;

class AdminServer {
  public:
    struct Sources {
        std::function<HealthVerdict()> live;
        std::function<HealthVerdict()> ready;
        std::function<std::string()> metrics;  // Prometheus's text format
        std::string group = {};                // the consumer group, or the routes' service
        AdminConfiguration access = {};
        // In threads of its own, since an act may wait for PostgreSQL and Kafka: one for pauses and
        // their ends, one for all others, one after the other in each.
        AdminActs act = {};
        // Answers a GET itself, now or later, and returns true; else the path is not its own.
        std::function<bool(const HttpRequest&, const HttpServer::Answer&)> page = {};
        // An act that has waited for others for longer than this is not begun.
        std::chrono::milliseconds act_patience{15'000};
    };
    // Listens when it returns.
    AdminServer(const ListenAddress& address, Sources sources);
    ~AdminServer();
    // With the port that the system chose, if 0 was asked for.
    const ListenAddress& address() const { return address_; }

  private:
    struct State;
    ListenAddress address_;
    std::unique_ptr<State> state_;
};

// Queries a process's admin port, as `onceward health` does: the body of its answer, and whether it
// is healthy. Throws AdminError if nothing listens there, or no answer comes within `timeout`.
struct AdminAnswer {
    int status = 0;
    std::string body;
    std::string process;  // name_of() its group; '' if it is not Onceward
};
// The value of the header `Onceward-Process` for any name of a group: 32 hex digits.
std::string name_of(const std::string& group);
// `tls`: over HTTPS. The certificate is not checked, as nothing secret is sent or believed.
AdminAnswer ask_admin_port(const ListenAddress& address, const std::string& path,
                           std::chrono::milliseconds timeout, bool tls = false);

}  // namespace onceward
