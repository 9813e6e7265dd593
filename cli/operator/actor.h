#pragma once
// Who acts by hand, for the audit log: a session says it of itself, and the server adds the role
// that it logged in as. Plain values; thread-safe.

#include <string>

#include "dedup/postgres/connection.h"

namespace onceward {

// What is empty is left out.
struct Actor {
    std::string who;   // a user of this machine, a token's name or a certificate's subject
    std::string role;  // at the admin port
    std::string way;   // `command` or `admin port`
    std::string host;  // this machine
    std::string address;
    std::string command;  // without secrets
    std::string reason;   // for acts whose own record has none
};

// For ConnectionOptions::actor.
std::string to_setting(const Actor& actor);

// A session whose acts are this actor's; `actor`: as to_setting() writes it. Throws what Connection
// and check_server() throw.
Connection acting_session(const ConnectionOptions& options, const std::string& actor);
// The user who runs this program, with the command line that it was started with.
Actor this_user(const std::string& reason);

}  // namespace onceward
