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

// All of them, in two rounds: what is reached at all, and then the rest of what was. A probe that
// has no answer does not stop the others.
std::vector<ProbeResult> examine(const Configuration& configuration,
                                 std::chrono::milliseconds limit);

// Parts of it. Whether the brokers answer, with TLS and login.
Probe bootstrap_probe(const Configuration& configuration, std::chrono::milliseconds limit);
// As the first broker that answers knows them. Throws KafkaError.
std::vector<std::string> broker_addresses(const Configuration& configuration,
                                          std::chrono::milliseconds limit);
// Each broker by itself, and each topic.
std::vector<Probe> broker_probes(const Configuration& configuration,
                                 const std::vector<std::string>& brokers,
                                 std::chrono::milliseconds limit);
// Whether one server answers, and its clock: see used_databases().
Probe database_probe(const Configuration& configuration, std::chrono::milliseconds limit);
// The rest of it.
std::vector<Probe> database_probes(const Configuration& configuration,
                                   std::chrono::milliseconds limit);

// What a check of `check --connect` found, a row each.
std::vector<ProbeRow> rows_of(const ConnectResult& result);

}  // namespace onceward
