#pragma once
// UUIDs as the inbox takes them: attempts, digests and fingerprints, and keys that carry the time
// at which they were minted. They are values; any thread may use them. A text that is not a UUID is
// Refused with OW004, as PostgreSQL refuses arguments.

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceward::pqxx {

// PostgreSQL's timestamptz is as precise.
using Time = std::chrono::sys_time<std::chrono::microseconds>;

class Uuid {
  public:
    using Bytes = std::array<unsigned char, 16>;

    explicit Uuid(const Bytes& bytes) : bytes_(bytes) {}
    // A new one of version 4.
    static Uuid random();
    // The form of RFC 9562, in either case.
    static Uuid parse(std::string_view text);

    std::string text() const;
    const Bytes& bytes() const { return bytes_; }
    auto operator<=>(const Uuid&) const = default;

  private:
    Bytes bytes_;
};

// The first 16 bytes of the SHA-256 of what came with a key, as onceward.fingerprint() has them.
Uuid fingerprint_of(std::string_view content);

// Mints a key that carries its time (RFC 9562, version 7).
Uuid uuid7();

// When a key was minted that is a UUID of version 7; nullopt for any other key. DANGER: refuse a
// key without a time, where keys are to have one: it would be taken again after the retention.
std::optional<Time> minted_at_of_uuid7(std::string_view key);

}  // namespace onceward::pqxx
