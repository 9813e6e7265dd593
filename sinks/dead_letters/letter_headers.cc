#include "sinks/dead_letters/letter_headers.h"

#include <array>

#include "dedup/base/text.h"
#include "dedup/postgres/binary.h"
#include "sinks/dead_letters/letter_header_names.h"

namespace onceward {
namespace {

std::string decimal_text(std::int64_t number) { return std::to_string(number); }

std::string big_endian(std::int32_t number) {
    std::string bytes;
    binary::put32(bytes, static_cast<std::uint32_t>(number));
    return bytes;
}

std::string big_endian(std::int64_t number) {
    std::string bytes;
    binary::put64(bytes, static_cast<std::uint64_t>(number));
    return bytes;
}

// Programs expect the class of an exception here. read_letter() knows the prefix.
std::string exception_class(const LetterOrigin& origin) {
    return "onceward." + std::string(to_text(origin.kind));
}

// The first line of a stack trace, as Java prints one.
std::string stack_trace(const LetterOrigin& origin) {
    return exception_class(origin) + ": " + origin.reason + "\n";
}

std::vector<LetterHeader> own_headers(const LetterOrigin& origin) {
    namespace name = letter_names::own;
    std::vector<LetterHeader> all{{name::topic, origin.topic},
                                  {name::partition, decimal_text(origin.partition.raw())},
                                  {name::offset, decimal_text(origin.offset.raw())}};
    if (origin.timestamp) all.push_back({name::timestamp, decimal_text(origin.timestamp->count())});
    all.push_back({name::group, origin.group});
    if (!origin.identity.empty()) all.push_back({name::identity, origin.identity});
    all.push_back({name::kind, std::string(to_text(origin.kind))});
    if (!origin.sqlstate.empty()) all.push_back({name::sqlstate, origin.sqlstate});
    all.push_back({name::reason, origin.reason});
    all.push_back({name::attempts, decimal_text(origin.attempts)});
    if (origin.key_text) all.push_back({name::key, *origin.key_text});
    if (origin.digest) all.push_back({name::digest, uuid_text(*origin.digest)});
    return all;
}

// The names of Kafka Connect's enum `Stage`.
std::string connect_stage(Rejection::Kind kind) {
    const bool undecoded =
        kind == Rejection::Kind::undecodable || kind == Rejection::Kind::unknown_schema;
    return undecoded ? "VALUE_CONVERTER" : "TASK_PUT";
}

std::vector<LetterHeader> connect_headers(const LetterOrigin& origin) {
    namespace name = letter_names::connect;
    return {{name::topic, origin.topic},
            {name::partition, decimal_text(origin.partition.raw())},
            {name::offset, decimal_text(origin.offset.raw())},
            {name::connector, origin.group},
            {name::task, "0"},
            {name::stage, connect_stage(origin.kind)},
            {name::executing_class, "onceward"},
            {name::exception, exception_class(origin)},
            {name::message, origin.reason},
            {name::trace, stack_trace(origin)}};
}

std::vector<LetterHeader> spring_headers(const LetterOrigin& origin) {
    namespace name = letter_names::spring;
    // Java's client has -1 and NoTimestampType for a record without a time.
    const std::int64_t time = origin.timestamp ? origin.timestamp->count() : -1;
    const char* const type = !origin.timestamp        ? "NoTimestampType"
                             : origin.log_append_time ? "LogAppendTime"
                                                      : "CreateTime";
    return {{name::exception, exception_class(origin)},
            {name::message, origin.reason},
            {name::trace, stack_trace(origin)},
            {name::topic, origin.topic},
            {name::partition, big_endian(origin.partition.raw())},
            {name::offset, big_endian(origin.offset.raw())},
            {name::timestamp, big_endian(time)},
            {name::timestamp_type, type},
            {name::group, origin.group}};
}

}  // namespace

std::string_view to_text(LetterStyle style) {
    constexpr std::array<std::string_view, 3> names{"onceward", "connect", "spring"};
    return names.at(static_cast<std::size_t>(style));
}

std::vector<LetterHeader> letter_headers(LetterStyle style, const LetterOrigin& origin) {
    switch (style) {
        case LetterStyle::connect: return connect_headers(origin);
        case LetterStyle::spring: return spring_headers(origin);
        case LetterStyle::onceward: break;
    }
    return own_headers(origin);
}

}  // namespace onceward
