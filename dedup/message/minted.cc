#include "dedup/message/minted.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "dedup/base/iso_time.h"
#include "dedup/base/types.h"

namespace onceward {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The last millisecond of the year 9999.
constexpr std::int64_t most_milliseconds = 253'402'300'799'999;

std::optional<MintedAt> at_millisecond(std::int64_t count) {
    if (count < 0 || count > most_milliseconds) return std::nullopt;
    return MintedAt(milliseconds(count));
}

}  // namespace

std::string describe(const MintedSource& source) {
    switch (source.kind) {
        case MintedSource::Kind::none: return "nowhere";
        case MintedSource::Kind::uuid7: return "the key, as a UUID of version 7";
        case MintedSource::Kind::header: return "header `" + source.name + "`";
        case MintedSource::Kind::field: return "field `" + source.name + "`";
        case MintedSource::Kind::ce_time: return "the CloudEvent's time";
    }
    return "";
}

std::string new_uuid7() {
    std::array<char, 13> time{};
    const auto now = static_cast<unsigned long long>(since_1970<milliseconds>().count());
    std::snprintf(time.data(), time.size(), "%012llx", now);
    const std::string_view digits(time.data(), 12);
    // The random bits, and the variant, are those of a UUID of version 4.
    return std::string(digits.substr(0, 8)) + "-" + std::string(digits.substr(8)) + "-7" +
           new_uuid().substr(15);
}

std::optional<MintedAt> minted_from_uuid7(std::string_view key) {
    constexpr std::size_t version_at = 14;
    constexpr std::size_t variant_at = 19;
    constexpr std::string_view variants = "89abAB";
    const std::optional<Digest> uuid = parse_uuid(key);
    if (!uuid || key.size() != 36 || key[version_at] != '7') return std::nullopt;
    if (variants.find(key[variant_at]) == std::string_view::npos) return std::nullopt;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < 6; ++i) count = count << 8 | uuid->bytes[i];
    return at_millisecond(count);
}

std::optional<MintedAt> minted_from_text(std::string_view text) {
    std::int64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [read, failed] = std::from_chars(text.data(), end, count);
    if (failed == std::errc{} && read == end) return at_millisecond(count);
    const std::optional<IsoMoment> moment = parse_iso_moment(text);
    if (!moment || !moment->offset) return std::nullopt;
    return MintedAt(moment->rounded() - *moment->offset);
}

std::optional<MintedAt> minted_from(const Value& value) {
    switch (value.kind) {
        case Value::Kind::integer: return at_millisecond(value.integer);
        case Value::Kind::natural:
            if (value.natural > static_cast<std::uint64_t>(most_milliseconds)) return std::nullopt;
            return at_millisecond(static_cast<std::int64_t>(value.natural));
        case Value::Kind::timestamp: return MintedAt(microseconds(value.integer));
        case Value::Kind::number:
        case Value::Kind::text: return minted_from_text(value.text);
        default: return std::nullopt;
    }
}

Digest stamped(const std::optional<Digest>& fingerprint, MintedAt minted_at) {
    std::string bytes;
    if (fingerprint) bytes = bytes_of(*fingerprint);
    const auto count = static_cast<std::uint64_t>(minted_at.time_since_epoch().count());
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(count >> shift & 0xff);
    return digest_of_bytes(bytes);
}

}  // namespace onceward
