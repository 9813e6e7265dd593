#pragma once
// Finds a schema together with all that it refers to: by several questions to a registry, and to
// its other addresses if one is in trouble. Without I/O of its own; it throws nothing.

#include "consumer/registry/registry_protocol.h"

namespace onceward {

// Bounds of one schema with its references. What exceeds them is refused.
struct ResolutionLimits {
    std::size_t references = 200;
    std::size_t depth = 20;
    std::size_t bytes = 8 << 20;
};

struct Resolution {
    RegistryAnswer::Kind kind = RegistryAnswer::Kind::failed;
    std::shared_ptr<const WrittenSchema> schema{};  // found
    std::string reason{};
    std::optional<std::chrono::seconds> retry_after{};
    // Another address gave a registry's answer, so `retry_after` is about this schema alone.
    bool another_answers = false;
};

// The registry's addresses. The one that answered last is asked first. Used by one thread.
class RegistryAddresses {
  public:
    // REQUIRES: there is at least one. A slash at the end of one is ignored.
    RegistryAddresses(std::vector<std::string> addresses, RegistryGet get,
                      ResolutionLimits limits = {});

    // `unknown` only if each address says so. It fails if one of them gives no answer and none
    // has the schema, or if `stop` is requested before the last one is asked.
    Resolution resolve(const SchemaId& id, const std::stop_token& stop);

  private:
    std::vector<std::string> addresses_;
    RegistryGet get_;
    ResolutionLimits limits_;
    std::size_t first_ = 0;
};

std::size_t size_of(const WrittenSchema& schema);

}  // namespace onceward
