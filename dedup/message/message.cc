#include "dedup/message/message.h"

#include <array>
#include <cstring>

namespace onceward {

std::string_view to_text(Rejection::Kind kind) {
    constexpr std::array<std::string_view, 9> names{"undecodable", "missing_key", "invalid_key",
                                                    "tombstone",   "unmappable",  "sink",
                                                    "conflict",    "behind",      "hot_key"};
    return names.at(static_cast<std::size_t>(kind));
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

Totals& Totals::operator+=(const Totals& other) {
    applied += other.applied;
    duplicates += other.duplicates;
    conflicts += other.conflicts;
    dead_lettered += other.dead_lettered;
    skipped += other.skipped;
    return *this;
}

}  // namespace onceward
