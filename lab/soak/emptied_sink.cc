#include "lab/soak/emptied_sink.h"

#include <cstring>

#include "dedup/base/network_order.h"
#include "lab/queries.h"

namespace onceward::soak {
namespace {

constexpr std::size_t number_bytes = 8;

std::int64_t number_at(const std::string& numbers, std::size_t at) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, numbers.data() + at, number_bytes);
    return static_cast<std::int64_t>(network_order(raw));
}

}  // namespace

void Seen::add(std::int64_t number, std::int64_t sent, Count& count) {
    ++count.applied;
    if (number < 0 || number >= sent || messages_.is_repeat(number)) {
        ++count.unknown;
        return;
    }
    const auto at = static_cast<std::size_t>(number);
    if (at >= rows_.size()) rows_.resize(static_cast<std::size_t>(sent));
    if (rows_[at]) ++count.twice;
    rows_[at] = true;
}

std::int64_t Seen::lost(std::int64_t sent) const {
    std::int64_t lost = 0;
    for (std::int64_t number = 0; number < sent; ++number) {
        const auto at = static_cast<std::size_t>(number);
        if ((at >= rows_.size() || !rows_[at]) && !messages_.is_repeat(number)) ++lost;
    }
    return lost;
}

EmptiedSink::EmptiedSink(Connection& connection, const Messages& messages)
    : connection_(connection), seen_(messages) {
    connection_.execute(lab_sql::soak_table);
}

std::string EmptiedSink::read() {
    return std::string(connection_.prepared(lab_sql::soak_take, {}, {}, true).text(0, 0));
}

void EmptiedSink::add(const std::string& numbers, std::int64_t sent) {
    for (std::size_t at = 0; at + number_bytes <= numbers.size(); at += number_bytes) {
        seen_.add(number_at(numbers, at), sent, count_);
    }
}

Count EmptiedSink::count(std::int64_t produced, std::int64_t duplicates) const {
    Count count = count_;
    count.produced = produced;
    count.duplicates = duplicates;
    count.lost = seen_.lost(produced);
    return count;
}

}  // namespace onceward::soak
