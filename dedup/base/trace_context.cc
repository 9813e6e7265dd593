#include "dedup/base/trace_context.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::size_t whole = 55;  // characters of version 00
constexpr std::size_t longest_state = 512;
constexpr std::size_t most_members = 32;

// Only lower case, as the standard requires; -1 for anything else.
int digit_of(char c) { return c >= 'A' && c <= 'F' ? -1 : hex_value(c); }

bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const int high = digit_of(text[2 * i]);
        const int low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return true;
}

bool all_zero(std::span<const std::uint8_t> bytes) {
    return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

// Ids have to be unique, not secret.
std::uint64_t random_bits() {
    thread_local std::mt19937_64 bits = [] {
        std::random_device device;
        std::seed_seq seed{device(), device(), device(), device(), device(), device()};
        return std::mt19937_64(seed);
    }();
    return bits();
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
    if (text.size() < whole || text[2] != '-' || text[35] != '-' || text[52] != '-') {
        return std::nullopt;
    }
    std::array<std::uint8_t, 1> version{};
    std::array<std::uint8_t, 1> flags{};
    TraceContext context;
    if (!read_hex(text, version) || !read_hex(text.substr(3), context.trace.bytes) ||
        !read_hex(text.substr(36), context.span.bytes) || !read_hex(text.substr(53), flags)) {
        return std::nullopt;
    }
    const bool longer = text.size() > whole;
    if (version[0] == 0xFF || (version[0] == 0 && longer) || (longer && text[whole] != '-') ||
        all_zero(context.trace.bytes) || all_zero(context.span.bytes)) {
        return std::nullopt;
    }
    context.sampled = (flags[0] & 1U) != 0;
    return context;
}

std::string to_traceparent(const TraceContext& context) {
    const auto text = [](const auto& bytes) {
        return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    return "00-" + hex(text(context.trace.bytes)) + "-" + hex(text(context.span.bytes)) +
           (context.sampled ? "-01" : "-00");
}

bool valid_tracestate(std::string_view text) {
    if (text.empty() || text.size() > longest_state) return false;
    const auto printable = [](char c) { return c >= 0x20 && c <= 0x7E; };
    if (!std::ranges::all_of(text, printable)) return false;
    for (std::size_t members = 0; !text.empty(); ++members) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view member = text.substr(0, comma);
        // An empty member is allowed, and so are blanks around one.
        const bool blank = member.find_first_not_of(' ') == std::string_view::npos;
        if (!blank && member.find('=') == std::string_view::npos) return false;
        if (members == most_members) return false;
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return true;
}

TraceId random_trace_id() {
    TraceId id;
    const std::array<std::uint64_t, 2> bits{random_bits() | 1U, random_bits()};
    std::memcpy(id.bytes.data(), bits.data(), id.bytes.size());
    return id;
}

SpanId random_span_id() {
    SpanId id;
    std::uint64_t bits = random_bits();
    if (bits == 0) bits = 1;
    std::memcpy(id.bytes.data(), &bits, id.bytes.size());
    return id;
}

}  // namespace onceward
