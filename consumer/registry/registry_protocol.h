#pragma once
// Confluent's HTTP protocol of a schema registry: the paths to ask for, and what an answer means.
// Pure functions on plain values; they throw nothing.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "consumer/decode/schema_source.h"

namespace onceward {

// What became of a GET.
struct RegistryReply {
    int status = 0;  // of HTTP; 0: there was no answer, and `failure` says why
    std::string body{};
    std::optional<std::chrono::seconds> retry_after{};
    std::string failure{};
};

// Asks for an address, with the registry's login. Returns early when a stop is requested. It throws
// nothing, and is called by one thread at a time.
using RegistryGet =
    std::function<RegistryReply(const std::string& address, const std::stop_token& stop)>;

struct SchemaReference {
    std::string name;
    std::string subject;
    int version = 0;
    friend auto operator<=>(const SchemaReference&, const SchemaReference&) = default;
};

struct RegistryAnswer {
    enum class Kind : std::uint8_t {
        found,
        unknown,  // the registry says that it has no such schema, subject or version
        refused,  // a schema that cannot be used: `reason`
        // The registry, the way to it or the login to it is in trouble, or it is no registry at
        // all. Ask again later.
        failed,
    };
    Kind kind = Kind::failed;
    SchemaLanguage language = SchemaLanguage::avro;
    std::string text{};
    std::vector<SchemaReference> references{};
    // Says what the registry does, such as `answers 503`.
    std::string reason{};
    std::optional<std::chrono::seconds> retry_after{};
};

// The paths below the registry's address.
std::string schema_path(const SchemaId& id);
std::string reference_path(const SchemaReference& reference);
std::string latest_path(const std::string& subject);

RegistryAnswer read_answer(const RegistryReply& reply);
// The number of the schema in an answer about a subject's version; nullopt if it has none.
std::optional<std::int32_t> registered_number(const RegistryReply& reply);

// The seconds in a header `Retry-After`; nullopt if it has a date or nothing useful. An hour at
// most.
std::optional<std::chrono::seconds> retry_after(const std::string& header);

}  // namespace onceward
