#pragma once
// A component's session with PostgreSQL: opened when it is needed, on a server that is fit and has
// the right schema, registered with the guard of frozen sessions, and replaced after a loss. What
// was learnt through a session must not outlive it: end() calls `forget`. Used by one thread; owns
// the connection, borrows the guard.

#include <functional>
#include <memory>

#include "dedup/base/expects.h"
#include "dedup/postgres/connection.h"

namespace onceward {

class FrozenSessionGuard;

class ServerSession {
  public:
    struct Options {
        ConnectionOptions connection;
        FrozenSessionGuard* guard = nullptr;  // may be null
        // Makes a new session ready; if it throws, there is no session. May be empty.
        std::function<void(Connection&)> set_up{};
        // Called by end(); must not throw. May be empty.
        std::function<void()> forget{};
    };
    explicit ServerSession(Options options) : options_(std::move(options)) {}
    // Does not call `forget`: the owner's memory ends with it.
    ~ServerSession() { close(); }
    ServerSession(const ServerSession&) = delete;
    ServerSession& operator=(const ServerSession&) = delete;

    // Connects unless there is a session. Throws PostgresError, ServerRefused, MigrationError, and
    // what `set_up` throws. The first session decides whether the schema fits this program; later
    // ones accept a newer schema too, because workers of the older program run during an upgrade.
    Connection& open();
    // Ends the session and calls `forget`, also if there is no session.
    void end();
    explicit operator bool() const { return connection_ != nullptr; }
    // REQUIRES: there is a session.
    Connection& operator*() {
        expects(connection_ != nullptr, "a session is open");
        return *connection_;
    }
    Connection* operator->() { return &**this; }

  private:
    void close();
    Options options_;
    bool fitted_ = false;  // the schema, in an earlier session
    std::unique_ptr<Connection> connection_;
};

}  // namespace onceward
