// What is about one topic of several: trouble of its own, and partitions that are added where its
// ledger reaches one partition.
#include "tests/faults/campaign/injector.h"
#include "tests/faults/campaign/request_log.h"
#include "tests/faults/campaign/server_log.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward::campaign {

using namespace std::chrono_literals;
using support::Database;

namespace {

constexpr milliseconds end_limit{15'000};
// A broker tells of them at once, a worker asks every ten seconds, and the machine is busy.
constexpr std::int64_t seen_within_us = 16'000'000;

std::string gate_of(const std::string& table) { return table + "_gate"; }

// Says 55P03 of each row while somebody has the gate's lock. What RAISE says is taken for a row's
// fault after some tries; this comes from the server, and never ends by itself.
std::string trigger_on(const std::string& table) {
    return "CREATE FUNCTION " + table +
           "_ask() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN LOCK TABLE " +
           gate_of(table) +
           " IN ACCESS SHARE MODE NOWAIT; RETURN NEW; END $$; CREATE TRIGGER ask BEFORE INSERT"
           " ON " +
           table + " FOR EACH ROW EXECUTE FUNCTION " + table + "_ask()";
}

}  // namespace

void Injector::trouble_one_topic(const FaultPlan& fault) {
    const Names& names = parts_.names;
    const std::size_t topic = fault.target % names.topics.size();
    const std::string table = names.table(topic);
    if (fault.kind == FaultKind::trouble_lock) {
        hold_lock(fault, "LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE",
                  [this] { troubles_.back().to_us = microseconds_now(); });
        troubles_.push_back({topic, microseconds_now(), 0});
    } else if (fault.kind == FaultKind::trouble_rights) {
        session()->execute("REVOKE INSERT ON " + table + " FROM " + support::worker_role);
        trouble_until(fault, topic, "GRANT INSERT ON " + table + " TO " + support::worker_role,
                      "permission denied for table");
    } else {
        const std::string gate = gate_of(table);
        std::shared_ptr<Database> holder = session();
        holder->execute("CREATE TABLE " + gate + " ()");
        holder->execute("BEGIN");
        holder->execute("LOCK TABLE " + gate + " IN ACCESS EXCLUSIVE MODE");
        session()->execute(trigger_on(table));
        trouble_until(fault, topic, "DROP TRIGGER ask ON " + table, "could not obtain lock",
                      std::move(holder));
    }
}

// Counted only where a worker met it.
void Injector::trouble_until(const FaultPlan& fault, std::size_t topic, const std::string& end,
                             const std::string& said, std::shared_ptr<Database> holder) {
    const std::filesystem::path log = parts_.stage.postgres().log();
    const std::uintmax_t from = std::filesystem::file_size(log);
    troubles_.push_back({topic, microseconds_now(), 0});
    go_on(fault, [this, fault, end, said, log, from, holder = std::move(holder)] {
        troubles_.back().to_us = microseconds_now();
        if (holder) holder->execute("ROLLBACK");
        count(fault, a_worker_was_told(log, from, said), "no worker came by");
        const bool ended = support::eventually(end_limit, [&] {
            try {
                session()->execute(end);
            } catch (const std::exception&) {
                return false;
            }
            return true;
        });
        if (!ended) throw std::runtime_error("the trouble does not end: " + end);
    });
}

void Injector::add_partitions_beside_reach(const FaultPlan& fault) {
    if (broker_away(fault)) return;
    const std::size_t topic = fault.target % parts_.names.topics.size();
    const std::string known = "SELECT count(*) FROM " + parts_.names.schema +
                              ".fences WHERE topic = '" + parts_.names.topics[topic] + "'";
    if (session()->number(known) == 0) {
        parts_.tally.nothing(fault.kind, "no worker knows how many there were");
        return;
    }
    const int total = parts_.feeder.partitions(topic) + 1 + static_cast<int>(fault.amount % 2);
    parts_.stage.kafka().add_partitions(parts_.names.topics[topic], total);
    standstills_.push_back({topic, microseconds_now() + seen_within_us, 0});
    parts_.feeder.set_partitions(topic, total);
    parts_.tally.count(fault.kind);
}

}  // namespace onceward::campaign
