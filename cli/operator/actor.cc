#include "cli/operator/actor.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/terminal/command_line.h"
#include "dedup/base/host_name.h"
#include "dedup/server/server_check.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

std::string user_name() {
    const uid_t user = geteuid();
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> names(16 * 1024);
    getpwuid_r(user, &entry, names.data(), names.size(), &found);
    // A container's user often has no name.
    std::string name = found != nullptr ? found->pw_name : "uid " + std::to_string(user);
    const char* const sudo = std::getenv("SUDO_USER");
    if (user == 0 && sudo != nullptr && *sudo != '\0') name = std::string(sudo) + " as " + name;
    return name;
}

}  // namespace

std::string to_setting(const Actor& actor) {
    nlohmann::json said = nlohmann::json::object();
    const std::pair<const char*, const std::string*> parts[] = {
        {"who", &actor.who},         {"role", &actor.role},       {"way", &actor.way},
        {"host", &actor.host},       {"address", &actor.address}, {"command", &actor.command},
        {"reason", &actor.reason},
    };
    for (const auto& [name, text] : parts) {
        if (!text->empty()) said[name] = *text;
    }
    // A word may have bytes that are not UTF-8.
    return said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Connection acting_session(const ConnectionOptions& options, const std::string& actor) {
    Connection connection(options);
    check_server(connection);
    connection.query(sql::actor_set, {actor});
    return connection;
}

Actor this_user(const std::string& reason) {
    return {.who = user_name(),
            .role = {},
            .way = "command",
            .host = host_name(),
            .address = {},
            .command = command_line(),
            .reason = reason};
}

}  // namespace onceward
