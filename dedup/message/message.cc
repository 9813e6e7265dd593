#include "dedup/message/message.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dedup/base/expects.h"
#include "dedup/base/trace_context.h"

namespace onceward {

namespace {

constexpr std::array<std::string_view, 11> rejection_names{
    "undecodable", "missing_key", "invalid_key", "tombstone", "unmappable",    "sink",
    "conflict",    "behind",      "hot_key",     "late_key",  "unknown_schema"};

}  // namespace

std::string_view to_text(Rejection::Kind kind) {
    return rejection_names.at(static_cast<std::size_t>(kind));
}

std::optional<Rejection::Kind> rejection_kind(std::string_view name) {
    const auto found = std::ranges::find(rejection_names, name);
    if (found == rejection_names.end()) return std::nullopt;
    return static_cast<Rejection::Kind>(found - rejection_names.begin());
}

Rejection refusal_of(Verdict verdict) {
    expects(verdict == Verdict::late || verdict == Verdict::early, "the ledger refused the key");
    if (verdict == Verdict::early) {
        return {Rejection::Kind::invalid_key, "the key was minted in the future", "", 1};
    }
    return {Rejection::Kind::late_key,
            "the key was minted before the ledger's memory begins: whether it took effect is not "
            "known any more",
            "", 1};
}

std::string describe(const Rejection& rejection) {
    const std::string kind(to_text(rejection.kind));
    if (rejection.kind == Rejection::Kind::sink) return kind + ", SQLSTATE " + rejection.sqlstate;
    return kind + ", " + rejection.reason;
}

std::string_view keep(std::pmr::memory_resource& arena, std::string_view bytes) {
    if (bytes.empty()) return {};
    auto* copy = static_cast<char*>(arena.allocate(bytes.size(), 1));
    std::memcpy(copy, bytes.data(), bytes.size());
    return {copy, bytes.size()};
}

std::optional<std::string_view> last_header(const Record& record, std::string_view name) {
    for (auto header = record.headers.rbegin(); header != record.headers.rend(); ++header) {
        if (header->name == name) return header->value;
    }
    return std::nullopt;
}

std::optional<MintedAt> judged_at(const Message& message) {
    if (!message.minted_at || !message.record.timestamp ||
        !last_header(message.record, redriven_header)) {
        return message.minted_at;
    }
    return std::max(*message.minted_at, MintedAt(*message.record.timestamp));
}

Totals& Totals::operator+=(const Totals& other) {
    applied += other.applied;
    duplicates += other.duplicates;
    conflicts += other.conflicts;
    dead_lettered += other.dead_lettered;
    skipped += other.skipped;
    return *this;
}

RecordTrace trace_to_continue(const Message& message) {
    RecordTrace trace;
    const auto came = last_header(message.record, traceparent_header);
    const std::optional<TraceContext> context = came ? parse_traceparent(*came) : std::nullopt;
    // DANGER: write the traceparent again, never copy it. If it is of a later version, the bytes
    // after the known parts may begin another header.
    if (message.trace != nullptr) {
        trace.parent = to_traceparent(*message.trace);
    } else if (context) {
        trace.parent = to_traceparent(*context);
    }
    // A tracestate without its traceparent belongs to no trace.
    if (!context) return trace;
    const auto state = last_header(message.record, tracestate_header);
    if (state && valid_tracestate(*state)) trace.state = *state;
    return trace;
}

}  // namespace onceward
