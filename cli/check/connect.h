#pragma once
// What `check --connect` asks the brokers, the schema registries and the database. It writes
// nothing and joins no group. Used by one thread.

#include <string>
#include <vector>

#include "cli/configuration/load.h"
#include "consumer/kafka/kafka_error.h"

namespace onceward {

struct ConnectResult {
    std::vector<Finding> findings;
    std::vector<std::string> good;  // what is as it has to be, a line each

    void error(Mark mark, const std::string& path, std::string message) {
        findings.push_back({Finding::Severity::error, mark, path, std::move(message)});
    }
    void warning(Mark mark, const std::string& path, std::string message) {
        findings.push_back({Finding::Severity::warning, mark, path, std::move(message)});
    }
};

ConnectResult check_brokers(const Configuration& configuration);
// Whether the schema registries answer and take the login, each at each of its addresses. Throws
// std::runtime_error if libcurl cannot start.
ConnectResult check_registries(const Configuration& configuration);
// Checks one server, its topics and routes: see used_databases().
ConnectResult check_database(const Configuration& configuration);
// Checks whether reading can continue at each fence: its offset is still in the log, and it is the
// same log. Queries brokers and database, which must both be healthy. For one server's topics: see
// by_database().
ConnectResult check_fences(const Configuration& configuration);

// Why no broker answered: what the client's connections complain of, if there is anything, is more
// specific than the failed query. Pure.
std::string no_answer(const std::optional<KafkaError>& refusal, const KafkaError& asked);

// The warning that a topic's log outlives the claims of what was read from it: then a rewind, or a
// redrive, may apply a message that was applied before. '' if the claims are kept as long as the
// messages, or the brokers do not say. `properties`: the topic's, as the brokers report them. Pure.
std::string rewind_warning(const std::map<std::string, std::string>& properties,
                           std::chrono::seconds claims_kept);

}  // namespace onceward
