#include "cli/connectors/jdbc_url.h"

#include <map>
#include <regex>

namespace onceward {
namespace {

constexpr const char* whole_dsn = "${ONCEWARD_DSN}";

// A variable of another kind than the environment's, such as `${file:/secrets:url}`.
bool has_foreign_variable(const std::string& text) {
    static const std::regex plain(R"(\$\{[A-Za-z_][A-Za-z0-9_]*\})");
    return std::regex_replace(text, plain, "").find("${") != std::string::npos;
}

std::map<std::string, std::string> parameters_of(const std::string& query) {
    std::map<std::string, std::string> found;
    std::size_t begin = 0;
    while (begin < query.size()) {
        const std::size_t end = std::min(query.find('&', begin), query.size());
        const std::string one = query.substr(begin, end - begin);
        const std::size_t equals = one.find('=');
        if (equals != std::string::npos) found[one.substr(0, equals)] = one.substr(equals + 1);
        begin = end + 1;
    }
    return found;
}

// In quotes if it needs them, as PQconninfo has it.
std::string dsn_part(const std::string& name, const std::string& value) {
    if (value.empty()) return "";
    std::string quoted;
    for (const char letter : value) {
        if (letter == '\'' || letter == '\\') quoted += '\\';
        quoted += letter;
    }
    const bool plain = value.find_first_of(" '\\") == std::string::npos;
    return name + "=" + (plain ? quoted : "'" + quoted + "'") + " ";
}

// `h1:5432,h2` -> the hosts and their ports.
std::pair<std::string, std::string> hosts_and_ports(const std::string& authority) {
    std::string hosts;
    std::string ports;
    bool any_port = false;
    for (const std::string& one : split_list(authority)) {
        const std::size_t colon = one.find_last_of(':');
        const bool port = colon != std::string::npos && one.find(']', colon) == std::string::npos;
        if (!hosts.empty()) hosts += ',', ports += ',';
        hosts += one.substr(0, port ? colon : std::string::npos);
        ports += port ? one.substr(colon + 1) : "5432";
        any_port = any_port || port;
    }
    return {hosts, any_port ? ports : ""};
}

struct Place {
    std::string host, port, database;
    std::map<std::string, std::string> parameters{};
};

Place place_of(const std::string& url) {
    static const std::string begin = "jdbc:postgresql:";
    if (!url.starts_with(begin)) {
        throw ConnectorError("The connector writes to `" +
                             url.substr(0, std::min(url.find_first_of("/?;@"), url.size())) +
                             "`. Rows are written to PostgreSQL only.");
    }
    Place place;
    std::string rest = url.substr(begin.size());
    if (const std::size_t query = rest.find('?'); query != std::string::npos) {
        place.parameters = parameters_of(rest.substr(query + 1));
        rest.resize(query);
    }
    if (rest.starts_with("//")) {
        const std::size_t slash = rest.find('/', 2);
        std::tie(place.host, place.port) = hosts_and_ports(rest.substr(2, slash - 2));
        rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    }
    place.database = rest;
    return place;
}

Place place_of(ConnectorOptions& options, const std::string& url) {
    const std::optional<std::string> host = options.find("connection.host");
    if (!host) return place_of(url);
    Place place{*host, options.text("connection.port", ""), options.text("db.name", "")};
    place.parameters["sslmode"] = options.text("ssl.mode", "");
    return place;
}

std::string variable_instead(std::vector<ConnectorNote>& notes) {
    notes.push_back({"connection.url",
                     "It has variables that only Connect knows. Set ONCEWARD_DSN, "
                     "such as `host=db dbname=shop user=onceward`."});
    return whole_dsn;
}

}  // namespace

JdbcUrl read_jdbc_url(ConnectorOptions& options, std::vector<ConnectorNote>& notes) {
    const std::string url = options.text("connection.url", "");
    const std::string user = options.either("connection.user", "connection.username", "");
    const bool password = options.find("connection.password").has_value();
    if (url.empty() && !options.has("connection.host")) return {variable_instead(notes), ""};
    if (has_foreign_variable(url) || has_foreign_variable(user) || url.starts_with("${")) {
        return {variable_instead(notes), ""};
    }
    Place place = place_of(options, url);
    auto& given = place.parameters;
    const bool in_url = given.contains("password");
    std::string dsn = dsn_part("host", place.host) + dsn_part("port", place.port) +
                      dsn_part("dbname", place.database) +
                      dsn_part("user", user.empty() ? given["user"] : user);
    if (password || in_url) {
        dsn += "password=${ONCEWARD_PASSWORD} ";
        notes.push_back(
            {"connection.password", "Passwords are not copied. Set ONCEWARD_PASSWORD."});
    }
    dsn += dsn_part("sslmode", !given["sslmode"].empty() ? given["sslmode"]
                               : given["ssl"] == "true"  ? "require"
                                                         : "");
    for (const auto& [name, value] : given) {
        if (name == "user" || name == "password" || name == "sslmode" || name == "ssl" ||
            name == "currentSchema" || value.empty()) {
            continue;
        }
        notes.push_back({"connection.url", "The driver's parameter `" + name + "` was left out."});
    }
    if (dsn.ends_with(' ')) dsn.pop_back();
    return {dsn, given["currentSchema"]};
}

}  // namespace onceward
