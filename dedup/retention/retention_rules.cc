#include "dedup/retention/retention_rules.h"

#include <cstdlib>

namespace onceward {

std::string_view to_text(Rotation rotation) {
    switch (rotation) {
        case Rotation::keep: return "keep";
        case Rotation::by_age: return "by_age";
        case Rotation::by_size: return "by_size";
    }
    std::abort();
}

std::int64_t estimated_claims(std::int64_t bytes, StoreKind store) {
    constexpr std::int64_t log_bytes = 17;
    if (store == StoreKind::log) return bytes / log_bytes;
    constexpr std::int64_t page_bytes = 8192;
    constexpr std::int64_t page_header_bytes = 24;
    constexpr std::int64_t row_bytes = 64 + 4;
    return bytes / page_bytes * ((page_bytes - page_header_bytes) / row_bytes);
}

Rotation rotation_due(const CurrentGeneration& current, const LedgerOptions& options) {
    if (current.claims == 0) return Rotation::keep;
    if (current.claims >= options.rotate_claims) return Rotation::by_size;
    if (current.age >= options.rotate_after) return Rotation::by_age;
    return Rotation::keep;
}

bool within(const DailyHours& hours, std::chrono::minutes of_day) {
    const bool begun = of_day >= hours.begin;
    const bool open = of_day < hours.end;
    return hours.begin < hours.end ? begun && open : begun || open;
}

}  // namespace onceward
