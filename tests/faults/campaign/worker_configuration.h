#pragma once
// The configuration of a seed's workers, and the tables that they write to, as text. Pure.

#include <array>
#include <cstdint>
#include <string>

#include "tests/faults/campaign/names.h"
#include "tests/faults/campaign/plan.h"
#include "tests/support/kafka.h"

namespace onceward::campaign {

struct Addresses {
    std::string bootstrap_servers;
    std::string dsn;
};

// The configuration of the worker process in that slot of the fleet.
std::string worker_configuration(const Plan& plan, const Names& names, const Addresses& addresses,
                                 int slot);
// The name of that topic's ledger.
std::string ledger_of(const Plan& plan, const Names& names, std::size_t topic);
// The statements that make each topic's ledger, as a table.
std::string table_ledgers(const Plan& plan, const Names& names);
// What all members of the group agree on.
support::Properties group_properties(const FleetPlan& fleet);
// Says in each call of a webhook who called.
inline constexpr const char* worker_header = "Campaign-Worker";
// The column with the transaction that wrote a row, in the tables of Trial::schema_changes.
inline constexpr const char* written_by = "written_by";
// The sink's columns. No unique constraint: what is applied twice must be there twice.
std::string sink_columns(Trial trial);
// What the sinks of Trial::own_codes raise for a refused row, by the message's id: a service's own
// code, a CASE without a match, a row that is met twice, and no data.
inline constexpr std::array<const char*, 4> own_codes{"SH001", "20000", "21000", "02000"};
std::string own_code_of(std::uint64_t message_id);
std::string listed_own_codes();  // as in SQL
std::string own_code_trigger(const std::string& table);
// Those of the table where requests take effect, without one as well; and what makes the function
// that is a way to it.
extern const char* const request_columns;
std::string request_function(const Names& names);

}  // namespace onceward::campaign
