#include "dedup/server/server_session.h"

#include "dedup/server/frozen_session_guard.h"
#include "dedup/server/migration.h"
#include "dedup/server/server_check.h"

namespace onceward {

Connection& ServerSession::open() {
    if (connection_) return *connection_;
    auto connection = std::make_unique<Connection>(options_.connection);
    check_server(*connection);
    require_version(*connection, fitted_ ? NewerSchema::taken : NewerSchema::refused);
    fitted_ = true;
    if (options_.set_up) options_.set_up(*connection);
    connection_ = std::move(connection);
    if (options_.guard != nullptr) options_.guard->watch(connection_->pid());
    return *connection_;
}

// DANGER: everything that was learnt through the session must be forgotten with it: a fail-over may
// have lost it.
void ServerSession::end() {
    close();
    if (options_.forget) options_.forget();
}

void ServerSession::close() {
    if (connection_ && options_.guard != nullptr) options_.guard->forget(connection_->pid());
    connection_.reset();
}

}  // namespace onceward
