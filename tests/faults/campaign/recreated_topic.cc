#include "tests/faults/campaign/recreated_topic.h"

#include <fstream>
#include <set>

#include "tests/faults/campaign/message_source.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka_sender.h"
#include "tests/support/postgres.h"

namespace onceward::campaign {
namespace {

using namespace std::chrono_literals;
using support::Database;
using support::eventually;

constexpr milliseconds start_limit{30'000};
// A worker compares the topic's id when it takes a partition over.
constexpr milliseconds halt_limit{45'000};
constexpr milliseconds apply_limit{90'000};
constexpr const char* prefix = "again-";

// Messages of the first topic alone, all of them good, under keys that nobody has used before.
std::vector<Drawn> messages_of(Plan plan, int partitions) {
    plan.seed += 1'000'000;
    WorkloadPlan& workload = plan.workload;
    workload.topics.resize(1);
    workload.key_prefix = prefix;
    workload.messages = 150;
    workload.repeated = 200;
    workload.repeats = Repeats::any;
    workload.undecodable = workload.refused = workload.keyless = workload.tombstones = 0;
    MessageSource source(plan, [&](std::size_t) { return partitions; });
    std::vector<Drawn> messages;
    while (const std::optional<Portion> portion = source.next())
        messages.insert(messages.end(), portion->messages.begin(), portion->messages.end());
    return messages;
}

// How often the workers have said that this topic's log is another one.
int said(const Plan& plan, const Names& names) {
    int lines = 0;
    for (int slot = 0; slot < plan.fleet.processes; ++slot) {
        std::ifstream file(names.folder / ("worker-" + std::to_string(slot) + ".log"));
        for (std::string line; std::getline(file, line);) {
            const bool about = line.find("--adopt-topic-id") != std::string::npos;
            lines += about && line.find(names.topics[0]) != std::string::npos ? 1 : 0;
        }
    }
    return lines;
}

}  // namespace

void RecreatedTopic::run() const {
    const std::string& topic = names.topics[0];
    Database database(stage.direct_dsn());
    // Where no fence is, no worker knows of the old log.
    const std::string fenced = "SELECT partition FROM " + names.schema + ".fences WHERE topic = '" +
                               topic + "' AND topic_id <> ''";
    if (database.number("SELECT count(*) FROM (" + fenced + ") AS fence") == 0) {
        tally.nothing(FaultKind::recreate_topic, "no partition of it has a fence");
        return;
    }
    stage.kafka().delete_topic(topic);
    stage.kafka().create_topic(topic, partitions);
    std::vector<support::AddressedMessage> sent;
    std::set<std::string> keys;
    for (const Drawn& drawn : messages_of(plan, partitions)) {
        sent.push_back({topic, drawn.message});
        keys.insert(drawn.key);
    }
    support::KafkaSender(stage.direct_bootstrap_servers(), support::KafkaSender::Kind::plain)
        .send(sent);
    const int before = said(plan, names);
    for (int slot = 0; slot < plan.fleet.processes; ++slot) fleet.start(slot);
    if (fleet.kill_now(0)) fleet.start(0);
    const bool halted = fleet.settle(start_limit) && eventually(halt_limit, [&] {
        fleet.look();
        return said(plan, names) > before;
    });
    if (!halted) tally.violation("a recreated topic: no worker said that it is another log");
    const std::string rows = " FROM " + names.table(0) + " WHERE key LIKE '" + prefix + "%'";
    const std::int64_t early =
        database.number("SELECT count(*)" + rows + " AND kafka_partition IN (" + fenced + ")");
    if (early > 0)
        tally.violation("a recreated topic: " + std::to_string(early) +
                        " rows of it before somebody adopted it");
    if (!by.until({"offsets", "--topic", topic, "--set", "earliest", "--adopt-topic-id", "--reason",
                   "campaign", "--yes"},
                  {0}))
        tally.violation("a recreated topic: it was not to be adopted");
    if (fleet.kill_now(plan.fleet.processes - 1)) fleet.start(plan.fleet.processes - 1);
    const auto distinct = [&] { return database.number("SELECT count(DISTINCT key)" + rows); };
    const bool all = eventually(apply_limit, [&] {
        fleet.look();
        return distinct() == static_cast<std::int64_t>(keys.size());
    });
    if (!all)
        tally.violation("a recreated topic: of " + std::to_string(keys.size()) + " keys " +
                        std::to_string(distinct()) + " took effect");
    const std::int64_t twice = database.number("SELECT count(*) - count(DISTINCT key)" + rows);
    if (twice != 0)
        tally.violation("a recreated topic: " + std::to_string(twice) + " keys took effect twice");
    if (halted && all) tally.count(FaultKind::recreate_topic);
}

}  // namespace onceward::campaign
