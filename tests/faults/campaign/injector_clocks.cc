// Somebody sets the time of the machine of a worker, or of the server.
#include <array>

#include "tests/faults/campaign/false_clock.h"
#include "tests/faults/campaign/injector.h"
#include "tests/faults/campaign/request_log.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {

using namespace std::chrono_literals;

namespace {

constexpr std::array<std::chrono::seconds, 5> offsets{24h, -24h, 1h, -10s, 0s};
constexpr milliseconds seen_limit{1000};
constexpr std::int64_t smallest_step_us = 5'000'000;

}  // namespace

void Injector::step_clock(const FaultPlan& fault) {
    const std::chrono::seconds offset = offsets[fault.target % offsets.size()];
    const std::string said = std::to_string(offset.count()) + " s";
    if (fault.kind == FaultKind::worker_clock_step) {
        const int slot = parts_.fleet.free_slot(fault.target / 5);
        const pid_t process = slot < 0 ? -1 : parts_.fleet.process(slot);
        if (process < 0 || !has_false_clock(process)) {
            parts_.tally.nothing(fault.kind, "no worker with a clock of its own");
            return;
        }
        set_false_clock(parts_.names.clock(slot), offset);
        parts_.tally.write("the clock of worker " + std::to_string(slot) + ": " + said);
        parts_.tally.count(fault.kind);
        return;
    }
    if (!parts_.stage.postgres().running() || !has_false_clock(parts_.stage.postgres().pid())) {
        parts_.tally.nothing(fault.kind, "the server has no clock of its own");
        return;
    }
    const auto by = [this] {
        const char* const sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        return session()->number(sql) - microseconds_now();
    };
    const std::int64_t before = by();
    set_false_clock(parts_.stage.clock(), offset);
    parts_.tally.write("the server's clock: " + said);
    count(fault, support::eventually(seen_limit, [&] {
              return std::abs(by() - before) > smallest_step_us;
          }),
          "it stood so already");
}

}  // namespace onceward::campaign
