#pragma once
// What an operator may do at the admin port, by the same functions as the commands: pause, resume,
// dlq/redrive, dlq/discard and forget, each a POST below /api/ with a JSON object. What changes or
// deletes data is a dry run unless the body says `"dry_run": false`. Each act has a session of its
// own, which tells the audit log who acts. Thread-safe.

#include "cli/admin/admin_server.h"
#include "cli/configuration/configuration.h"

namespace onceward {

// Answers 404 to what is no act. The configuration is copied. Does not throw.
AdminActs admin_acts(const Configuration& configuration);

}  // namespace onceward
