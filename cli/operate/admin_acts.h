#pragma once
// What an operator may do at the admin port, by the same functions as the commands: pause, resume,
// dlq/redrive, dlq/discard, forget and reload, each a POST below /api/ with a JSON object. What
// changes or deletes data is a dry run unless the body says `"dry_run": false`. Each act has a
// session of its own, which tells the audit log who acts. Thread-safe.

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "cli/admin/admin_server.h"
#include "cli/configuration/current.h"

namespace onceward {

// Reloads the configuration. Returns an object with `result` (`applied`, `unchanged`, `refused` or
// `under_way`), `refusal` and `consequences`. Waits for its end as long as a drain may take; if it
// has not ended then, it is still under way. Throws std::runtime_error once `stopped` says that the
// process ends.
using ReloadAct = std::function<nlohmann::json(const std::function<bool()>& stopped)>;
inline constexpr const char* still_under_way = "under_way";

// Answers 404 for an unknown act. The configuration outlives it; each act sees the current one.
// `reload`: empty if the process cannot. Does not throw.
AdminActs admin_acts(const CurrentConfiguration& current, ReloadAct reload = {});

}  // namespace onceward
