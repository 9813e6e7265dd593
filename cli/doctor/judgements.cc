#include "cli/doctor/judgements.h"

#include <array>
#include <cstdio>

#include "cli/configuration/units.h"
#include "cli/terminal/quantities.h"

namespace onceward {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// People compare start times, ages of dead letters and times of keys across machines. So does
// `minted_at`, whose keys may be a minute early.
constexpr seconds clock_warning{1};
constexpr seconds clock_fault{60};
// Half an hour of overdue claims is a pass or two of the retention job.
constexpr seconds overdue_warning{1800};
constexpr seconds transaction_warning{300};
constexpr seconds transaction_fault{3600};

std::string milliseconds_text(microseconds time) {
    std::array<char, 32> room{};
    std::snprintf(room.data(), room.size(), "%.1f ms", static_cast<double>(time.count()) / 1000);
    return room.data();
}

}  // namespace

ProbeRow judge_clock(microseconds ahead, microseconds round_trip) {
    const microseconds apart = ahead < microseconds{0} ? -ahead : ahead;
    const std::string text = "its clock is " + milliseconds_text(apart) +
                             (ahead < microseconds{0} ? " earlier" : " later") +
                             " than this machine's (+- " + milliseconds_text(round_trip / 2) + ")";
    if (apart - round_trip / 2 < clock_warning) return {ProbeVerdict::ok, text, ""};
    return {apart < clock_fault ? ProbeVerdict::warning : ProbeVerdict::fault, text,
            "Synchronize both clocks (chrony or systemd-timesyncd). Claims expire by the server's; "
            "`minted_at` and a start by time compare it with others."};
}

ProbeRow judge_newest_record(milliseconds newest, milliseconds now, bool by_broker) {
    const std::string whose = by_broker ? "the broker" : "a producer";
    const milliseconds ahead = newest - now;
    if (ahead <= clock_warning) {
        return {ProbeVerdict::ok,
                "its newest record was written " +
                    age_text(duration_cast<seconds>(ahead < milliseconds{0} ? -ahead : ahead)) +
                    " ago, by the clock of " + whose,
                ""};
    }
    return {ProbeVerdict::warning,
            "its newest record is " + age_text(duration_cast<seconds>(ahead)) +
                " in the future, by the clock of " + whose,
            "Synchronize the clock of " + whose + ", or this machine's."};
}

ProbeRow judge_connections(std::int64_t most, std::int64_t reserved, std::int64_t used,
                           std::int64_t needed) {
    const std::int64_t free = most - reserved - used;
    const std::string text = std::to_string(used) + " of " + std::to_string(most) +
                             " connections are in use; this process needs " +
                             std::to_string(needed);
    if (free >= needed) return {ProbeVerdict::ok, text, ""};
    return {ProbeVerdict::warning, text,
            "If the process does not run yet, it would not get all of its sessions. Raise "
            "max_connections, or lower `workers`."};
}

ProbeRow judge_ledger(const std::string& name, std::int64_t claims, std::int64_t bytes,
                      seconds retention, seconds overdue, const std::string& held_by) {
    std::string text = "ledger " + name + ": " + std::to_string(claims) + " claims, " +
                       bytes_text(static_cast<double>(bytes)) + ", kept for " +
                       duration_text(retention);
    if (overdue <= overdue_warning) return {ProbeVerdict::ok, text, ""};
    text += "; the oldest are " + age_text(overdue) + " beyond that";
    if (!held_by.empty()) text += ", held back by " + held_by;
    return {ProbeVerdict::warning, text,
            held_by.empty() ? "Is a process running? Its retention job drops them. `onceward "
                              "retention` shows why not."
                            : "`onceward retention` shows what holds them; `onceward groups` "
                              "retires a group that is gone."};
}

ProbeRow judge_transaction(const std::string& who, seconds open, bool idle) {
    const std::string text = "the oldest transaction is " + age_text(open) + " old (" + who +
                             (idle ? ", waits for its client)" : ")");
    if (open < transaction_warning) return {ProbeVerdict::ok, text, ""};
    return {open < transaction_fault ? ProbeVerdict::warning : ProbeVerdict::fault, text,
            "It holds locks, and keeps VACUUM and the retention from removing anything. End it "
            "where it was begun, or by pg_terminate_backend()."};
}

}  // namespace onceward
