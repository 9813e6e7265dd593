#pragma once
// The schema registries of a configuration: what asks them over HTTP, and their caches. Functions
// are thread-safe; the headers of the parts that they return say the rest.

#include <map>
#include <memory>
#include <string>

#include "cli/configuration/configuration.h"
#include "consumer/registry/schema_cache.h"

namespace onceward {

// By name.
using Registries = std::map<std::string, std::shared_ptr<SchemaCache>>;

// Each has a thread, which asks nothing until a schema is asked for. Shared by all workers of a
// process. Throws std::runtime_error if libcurl cannot start.
Registries make_registries(const Configuration& configuration);

// The topic's cache; null if its schemas come from no registry. REQUIRES: it is among them.
std::shared_ptr<SchemaCache> registry_of(const Registries& registries,
                                         const TopicConfiguration& topic);

// For a command that reads one topic and may wait for its schemas; null as above. Only that topic's
// registry gets a thread.
std::shared_ptr<SchemaSource> patient_schemas(const Configuration& configuration,
                                              const TopicConfiguration& topic);

// Asks one registry, with its login and TLS. One thread at a time.
RegistryGet make_registry_get(const RegistryConfiguration& registry);

// Whether the address answers as a registry does and takes the login: '' or what is wrong.
std::string registry_fault(const RegistryConfiguration& registry, const std::string& address);

}  // namespace onceward
