#pragma once
// All that a soak runs on: the topic, a private PostgreSQL with the sink's table, and the release
// program's `run` with a configuration. Used by the thread that made it, which must live as long.
// Failures are exceptions.

#include <filesystem>
#include <optional>
#include <string>

#include "dedup/postgres/connection.h"
#include "lab/demo/stage.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/private_postgres.h"
#include "lab/embedded/reserved_port.h"
#include "lab/soak/emptied_sink.h"
#include "lab/soak/probe.h"
#include "lab/soak/run.h"

namespace onceward::soak {

inline constexpr const char* topic = "soak";

class Scene {
  public:
    // Returns when the worker has taken its fences.
    explicit Scene(const Options& options);
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;

    Connection& connection() { return *connection_; }
    EmptiedSink& sink() { return *sink_; }
    const Messages& messages() const { return messages_; }
    Probe probe(const Options& options);
    void expect_running();
    // SIGTERM: it drains and ends well.
    void stop_worker();

  private:
    ChildOptions command(const Options& options, const char* verb) const;

    demo::TemporaryFolder folder_;
    PrivatePostgres postgres_;
    ReservedPort admin_;
    Messages messages_;
    std::optional<Connection> connection_;
    std::optional<EmptiedSink> sink_;
    std::optional<ChildProcess> worker_;
};

}  // namespace onceward::soak
