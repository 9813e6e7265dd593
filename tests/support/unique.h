#pragma once
// Names that no other test, process or run uses, and seeds that can be repeated. Thread-safe.

#include <cstdint>
#include <string>

namespace onceward::support {

// `prefix_<process>_<random>_<n>`: fit for a schema, a topic, a group.
std::string unique_name(const std::string& prefix);

// The value of ONCEWARD_SEED, or a random one; printed, and recorded with the running test, so that
// a failure can be run again.
std::uint64_t seed();

}  // namespace onceward::support
