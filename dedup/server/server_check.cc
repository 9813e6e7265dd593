#include "dedup/server/server_check.h"

#include "dedup/server/citus.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr int oldest_version = 140000;

void refuse_off(const QueryResult& server, int column, const std::string& name) {
    if (server.text(0, column) != "off") return;
    throw ServerRefused(commit_may_be_lost(name));
}

}  // namespace

std::string commit_may_be_lost(const std::string& setting) {
    return "the server has " + setting +
           " = off: a crash would lose what it said was committed. Set it to on, for the server" +
           (setting == "synchronous_commit" ? " or for the role" : "");
}

void check_server(Connection& connection) {
    if (connection.server_version() < oldest_version) {
        throw ServerRefused("the server is PostgreSQL " +
                            std::to_string(connection.server_version() / 10000) +
                            "; PostgreSQL 14 or newer is needed");
    }
    const QueryResult server = connection.query(sql::server_check, Parameters{});
    if (server.boolean(0, 0) || server.text(0, 1) != "off") {
        throw PostgresError(
            {.sqlstate = "25006", .message = "the server is a standby or read-only"});
    }
    refuse_off(server, 2, "synchronous_commit");
    refuse_off(server, 3, "fsync");
    refuse_off(server, 4, "full_page_writes");
    if (server.text(0, 5) != "UTF8") {
        throw ServerRefused("the database's encoding is " + std::string(server.text(0, 5)) +
                            "; a database with UTF8 is needed");
    }
    if (!server.boolean(0, 6)) return;
    const std::string refusal = distributed_refusal(
        connection.schema(), citus_tables(connection, 0, connection.schema()));
    if (!refusal.empty()) throw ServerRefused(refusal);
}

}  // namespace onceward
