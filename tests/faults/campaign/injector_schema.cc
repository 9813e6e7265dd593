// Somebody changes the sinks' tables while workers write to them.
#include "tests/faults/campaign/injector.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {

using namespace std::chrono_literals;
using support::Database;

namespace {

constexpr milliseconds change_limit{20'000};

std::string change_of(FaultKind kind, const std::string& table) {
    if (kind == FaultKind::create_index) return "CREATE INDEX ON " + table + " (account)";
    if (kind == FaultKind::add_column)
        return "ALTER TABLE " + table +
               " ADD COLUMN IF NOT EXISTS note text NOT NULL DEFAULT 'none'";
    return "ALTER TABLE " + table + " ALTER COLUMN amount TYPE bigint";
}

}  // namespace

void Injector::lock_table_for_long(const FaultPlan& fault) {
    const Names& names = parts_.names;
    const std::string table = names.table(fault.target % names.topics.size());
    // The lock comes when the transactions before it have ended.
    hold_lock(fault, "SET lock_timeout = '5s'; SET statement_timeout = '8s'; LOCK TABLE " + table +
                         " IN ACCESS EXCLUSIVE MODE");
}

// In a thread of its own: it waits for the transactions before it, and the workers wait for it. One
// whose session a fault has ended is said again.
void Injector::change_table(const FaultPlan& fault) {
    const Names& names = parts_.names;
    const std::string change =
        change_of(fault.kind, names.table(fault.target % names.topics.size()));
    const std::string dsn = parts_.stage.direct_dsn() +
                            " connect_timeout=2 options='-c default_transaction_read_only=off"
                            " -c lock_timeout=22s'";
    auto done = std::make_shared<std::atomic<bool>>(false);
    parts_.tally.write(std::string(name_of(fault.kind)) + " begins: " + change);
    by_strangers_.emplace_back(fault, done);
    strangers_.emplace_back([dsn, change, done] {
        support::eventually(change_limit, [&] {
            try {
                Database(dsn).execute(change);
                *done = true;
            } catch (const std::exception&) {
                return false;
            }
            return true;
        });
    });
}

}  // namespace onceward::campaign
