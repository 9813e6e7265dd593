#pragma once
// The guard of routes' sessions: what its own session meets is what `/readyz` says of routes, so it
// asks of the server what the routes' sessions ask as well.

#include "dedup/server/frozen_session_guard.h"
#include "dedup/server/migration.h"
#include "dedup/server/server_check.h"

namespace onceward {

inline FrozenSessionGuardOptions route_guard(const ConnectionOptions& connection) {
    return {.connection = connection,
            .fit = [require_schema = SchemaCheck{}](Connection& session) mutable {
                check_server(session);
                require_schema(session);
            }};
}

}  // namespace onceward
