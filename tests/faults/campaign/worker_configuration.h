#pragma once
// The configuration of a seed's workers, and the tables that they write to, as text. Pure.

#include <string>

#include "tests/faults/campaign/names.h"
#include "tests/faults/campaign/plan.h"
#include "tests/support/kafka.h"

namespace onceward::campaign {

struct Addresses {
    std::string bootstrap_servers;
    std::string dsn;
};

// Of the worker process in that slot of the fleet.
std::string worker_configuration(const Plan& plan, const Names& names, const Addresses& addresses,
                                 int slot);
// What all members of the group agree on.
support::Properties group_properties(const FleetPlan& fleet);
// Says in each call of a webhook who called.
inline constexpr const char* worker_header = "Campaign-Worker";
// The sink's columns. No unique constraint: what is applied twice must be there twice.
extern const char* const sink_columns;
// Those of the table where requests take effect, without one as well; and what makes the function
// that is a way to it.
extern const char* const request_columns;
std::string request_function(const Names& names);

}  // namespace onceward::campaign
