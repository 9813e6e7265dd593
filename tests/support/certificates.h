#pragma once
// Certificates for a broker on 127.0.0.1. Thread-safe; throws std::runtime_error.

#include <filesystem>

namespace onceward::support {

// Writes ca.pem and server.pem (key and chain, as Kafka's PEM key store wants them) into the
// folder.
void write_certificates(const std::filesystem::path& folder, bool expired);

}  // namespace onceward::support
