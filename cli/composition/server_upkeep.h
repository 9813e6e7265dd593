#pragma once
// What a process runs once for a PostgreSQL server, for all topics and routes there: the guard of
// their sessions, the retention of their ledgers, and the relay of the outbox. Its threads run from
// the construction to the end; it outlives the sessions that it serves. complete() and guard() are
// thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/admin/process_status.h"
#include "cli/configuration/configuration.h"
#include "consumer/relay/relay.h"
#include "dedup/base/step_observer.h"
#include "dedup/retention/retention.h"
#include "dedup/server/frozen_session_guard.h"

namespace onceward {

class ServerUpkeep {
  public:
    // `part`: the configuration of this server, one of used_databases(whole). The observer may be
    // null, and the tracer.
    ServerUpkeep(const Configuration& whole, const Configuration& part,
                 std::optional<RelayOptions> relay, StepObserver* observer, Tracer* tracer);
    // What a process without workers needs for its routes; null if they keep no keys.
    static std::unique_ptr<ServerUpkeep> of_routes(const Configuration& configuration,
                                                   StepObserver* observer, Tracer* tracer);
    FrozenSessionGuard& guard() { return guard_; }
    // For the sessions with this server.
    const std::shared_ptr<LogWindows>& log_windows() const { return log_windows_; }
    // The ledgers that its retention rotates from now on, after topics came or went. Thread-safe.
    void use(std::vector<LedgerOptions> ledgers) { retention_.use(std::move(ledgers)); }
    void complete(ProcessStatus& status) const;

  private:
    const std::string database_;
    FrozenSessionGuard guard_;
    std::shared_ptr<LogWindows> log_windows_;
    RetentionJob retention_;
    std::optional<Relay> relay_;  // nullopt if nothing is published
    std::jthread retention_thread_;
    std::jthread relay_thread_;
};

}  // namespace onceward
