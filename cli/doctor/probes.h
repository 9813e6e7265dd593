#pragma once
// The probes of `onceward doctor`, made of a configuration. What `check --connect` asks is asked by
// its own functions (cli/check/connect.h). Each probe owns a copy of what it needs. Used by one
// thread; a probe runs in any.

#include <chrono>
#include <string>
#include <vector>

#include "cli/check/connect.h"
#include "cli/configuration/configuration.h"
#include "cli/doctor/probe.h"

namespace onceward {

// All probes, in two rounds: first what can be reached at all, and then the rest of what was
// reached. A probe that has no answer does not stop the others.
std::vector<ProbeResult> examine(const Configuration& configuration,
                                 std::chrono::milliseconds limit);

// The parts of examine(). Whether the brokers answer, with TLS and login.
Probe bootstrap_probe(const Configuration& configuration, std::chrono::milliseconds limit);
// The brokers as the first one that answers knows them. Throws KafkaError.
std::vector<std::string> broker_addresses(const Configuration& configuration,
                                          std::chrono::milliseconds limit);
// Each broker by itself, and each topic.
std::vector<Probe> broker_probes(const Configuration& configuration,
                                 const std::vector<std::string>& brokers,
                                 std::chrono::milliseconds limit);
// Whether one server answers, and its clock: see used_databases().
Probe database_probe(const Configuration& configuration, std::chrono::milliseconds limit);
// The other probes of a server.
std::vector<Probe> database_probes(const Configuration& configuration,
                                   std::chrono::milliseconds limit);

// What a check of `check --connect` found, a row each.
std::vector<ProbeRow> rows_of(const ConnectResult& result);

}  // namespace onceward
