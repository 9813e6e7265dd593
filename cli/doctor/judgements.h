#pragma once
// What measured values mean: from numbers to rows. Pure.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/doctor/probe.h"

namespace onceward {

// `ahead`: how far the server's clock is ahead of this machine's; it is uncertain by half of the
// round trip.
ProbeRow judge_clock(std::chrono::microseconds ahead, std::chrono::microseconds round_trip);

// `newest` and `now`: since 1970. `by_broker`: the topic's times are the broker's
// (`message.timestamp.type`), else its producers'.
ProbeRow judge_newest_record(std::chrono::milliseconds newest, std::chrono::milliseconds now,
                             bool by_broker);

// `used`: sessions that there are; `needed`: those that this process opens.
ProbeRow judge_connections(std::int64_t most, std::int64_t reserved, std::int64_t used,
                           std::int64_t needed);

// A ledger keeps claims beyond its retention while something may still be read again.
// `overdue`: for how long it has; `held_by`: what holds it back, '' if nothing does.
ProbeRow judge_ledger(const std::string& name, std::int64_t claims, std::int64_t bytes,
                      std::chrono::seconds retention, std::chrono::seconds overdue,
                      const std::string& held_by);

// The oldest open transaction. `idle`: it waits for its client.
ProbeRow judge_transaction(const std::string& who, std::chrono::seconds open, bool idle);

}  // namespace onceward
