// Whether a worker could continue at the fences, and what a rewind from there would apply again.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cli/check/connect.h"
#include "cli/configuration/units.h"
#include "cli/operator/broker_view.h"
#include "consumer/kafka/kafka_error.h"
#include "consumer/partitions/first_position.h"
#include "dedup/base/text.h"
#include "dedup/postgres/connection.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

void check_fence(BrokerView& log, const TopicConfiguration& topic, Partition partition,
                 Offset fence, ConnectResult& result) {
    const LogRange range = log.range({topic.name, partition});
    const OutOfRangePlan plan = plan_out_of_range(fence, range, topic.on_out_of_range, 0);
    const std::string where = "Partition " + std::to_string(partition.raw()) + ": ";
    switch (plan.action) {
        case OutOfRangePlan::Action::seek: return;
        case OutOfRangePlan::Action::halt:
            return result.error(topic.mark, topic.path, where + plan.halt.text + ".");
        case OutOfRangePlan::Action::skip:
            result.warning(topic.mark, topic.path,
                           where + "offsets " + std::to_string(fence.raw()) + " to " +
                               std::to_string(range.earliest.raw() - 1) +
                               " are no longer in the log, and `on_out_of_range` will pass them. "
                               "Read `skipped_ranges` then.");
    }
}

// Returns the number of fences that it checked.
int check_topic(Connection& connection, BrokerView& log, const Configuration& configuration,
                const TopicConfiguration& topic, ConnectResult& result) {
    const QueryResult fences =
        connection.query(sql::offsets_list, {configuration.group, topic.name, std::nullopt});
    if (fences.rows() == 0) return 0;
    const std::string id = log.queries().identity(topic.name).topic_id;
    int looked = 0;
    for (int row = 0; row < fences.rows(); ++row) {
        const bool retired = !fences.is_null(row, 8);
        if (retired) continue;
        ++looked;
        const std::string known(fences.text(row, 14));
        const Partition partition{static_cast<std::int32_t>(fences.integer(row, 1))};
        if (!known.empty() && !id.empty() && known != id) {
            result.error(topic.mark, topic.path,
                         "The topic was recreated: its id is " + id + ", and the fences refer to " +
                             known +
                             ". Say where to begin in it with `onceward offsets --set ... "
                             "--adopt-topic-id`.");
            return looked;
        }
        check_fence(log, topic, partition, Offset{fences.integer(row, 2)}, result);
    }
    return looked;
}

constexpr std::int64_t for_ever = -1;

// How long messages are kept, in milliseconds, or for ever; nullopt if the brokers do not say.
std::optional<std::int64_t> kept(const std::map<std::string, std::string>& properties) {
    const auto policy = properties.find("cleanup.policy");
    const bool deletes =
        policy == properties.end() || policy->second.find("delete") != std::string::npos;
    if (!deletes) return for_ever;  // the last message of each record key
    const auto found = properties.find("retention.ms");
    if (found == properties.end()) return std::nullopt;
    const auto number = number_of<std::int64_t>(found->second);
    return number ? std::optional(std::max(*number, for_ever)) : std::nullopt;
}

}  // namespace

ConnectResult check_fences(const Configuration& configuration) {
    ConnectResult result;
    BrokerView log(configuration.kafka);
    Connection connection(configuration.postgres);
    int fences = 0;
    try {
        for (const TopicConfiguration& topic : configuration.topics) {
            fences += check_topic(connection, log, configuration, topic, result);
        }
    } catch (const KafkaError& error) {
        result.error(configuration.kafka_mark, "kafka",
                     "The brokers do not report where the logs begin and end (" +
                         std::string(error.what()) + ").");
    }
    if (fences > 0 && result.findings.empty()) {
        result.good.push_back("fences: all " + std::to_string(fences) +
                              " are in the log that they refer to");
    }
    return result;
}

std::string rewind_warning(const std::map<std::string, std::string>& properties,
                           std::chrono::seconds claims_kept) {
    const std::optional<std::int64_t> messages = kept(properties);
    if (!messages) return "";
    const std::chrono::milliseconds time(*messages);
    if (*messages != for_ever && time <= claims_kept) return "";
    const std::string claims = duration_text(claims_kept);
    const std::string log = *messages == for_ever ? "ever" : duration_text(time);
    const std::string remedy = *messages == for_ever
                                   ? "Write a `retention` as long as the longest rewind"
                                   : "Write `retention: " + log + "`";
    return "The topic keeps its messages for " + log + ", its ledger their claims for " + claims +
           ": a rewind that reaches further back applies a SECOND time what was applied before. " +
           remedy + ", or never rewind further than " + claims + ".";
}

}  // namespace onceward
