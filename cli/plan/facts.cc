#include "cli/plan/facts.h"

#include <set>

#include "cli/composition/composition.h"
#include "cli/configuration/databases.h"
#include "dedup/retention/ledger_view.h"
#include "dedup/server/migration.h"
#include "dedup/sink/sink.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using Topics = std::map<std::string, TopicFacts>;

Topics topics_of(Connection& connection, const std::string& group) {
    const QueryResult rows = connection.query(sql::plan_topics, {group});
    Topics topics;
    for (int row = 0; row < rows.rows(); ++row) {
        TopicFacts& facts = topics[std::string(rows.text(row, 0))];
        facts.fences = rows.integer(row, 1);
        if (!rows.is_null(row, 2)) facts.ledgers.emplace_back(rows.text(row, 2));
    }
    return topics;
}

std::string sink_problem(Connection& connection, const TopicConfiguration& topic) try {
    make_sink(topic)->prepare(connection);
    return "";
} catch (const SinkMismatch& error) {
    return error.what();
} catch (const PostgresError& error) {
    if (error.diagnosis().connection_lost) throw;
    return error.summary();
}

// If the new configuration has the topic on another server, only fences_in is set.
void merge(PlanFacts& facts, const Configuration& next, const std::string& server, Topics found) {
    std::set<std::string> elsewhere;
    for (const TopicConfiguration& topic : next.topics) {
        if (topic.database != server) elsewhere.insert(topic.name);
    }
    for (auto& [topic, more] : found) {
        TopicFacts& known = facts.topics[topic];
        if (elsewhere.contains(topic)) {
            if (more.fences > 0) known.fences_in = server;
            continue;
        }
        more.fences_in = known.fences_in;
        known = std::move(more);
    }
}

void read_ledgers(Connection& connection, const std::set<std::string>& names, PlanFacts& facts) {
    for (const std::string& name : names) {
        for (const LedgerView& view : view_ledgers(connection, name, std::nullopt)) {
            facts.ledgers[name] = {.store = view.store,
                                   .reach = view.reach,
                                   .retention = view.retention,
                                   .claims = view.claims,
                                   .counted = view.claims_counted};
        }
    }
}

}  // namespace

PlanFacts read_facts(const Configuration* now, const Configuration& next) {
    PlanFacts facts;
    std::set<std::string> ledgers;
    for (const Configuration* one : {now, &next}) {
        if (one == nullptr) continue;
        for (const auto& [name, ledger] : one->ledgers) ledgers.insert(name);
    }
    for (Configuration& part : used_databases(next)) {
        part.postgres.application_name = "onceward plan";
        Connection connection(part.postgres);
        require_version(connection);
        Topics found = topics_of(connection, next.group);
        for (const auto& [topic, more] : found) {
            ledgers.insert(more.ledgers.begin(), more.ledgers.end());
        }
        merge(facts, next, part.database, std::move(found));
        read_ledgers(connection, ledgers, facts);
        for (const TopicConfiguration& topic : part.topics) {
            if (std::string problem = sink_problem(connection, topic); !problem.empty()) {
                facts.topics[topic.name].sink_problem = std::move(problem);
            }
        }
    }
    return facts;
}

}  // namespace onceward
