#include "cli/page/partition_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schemas/queries.h"

namespace onceward {
namespace {

nlohmann::json totals_json(const Totals& totals) {
    return {{"applied", totals.applied},
            {"duplicates", totals.duplicates},
            {"conflicts", totals.conflicts},
            {"dead_lettered", totals.dead_lettered},
            {"skipped", totals.skipped}};
}

PartitionView& view_of(std::vector<PartitionView>& views, const WorkerState& worker,
                       const TopicPartition& partition) {
    const auto found = std::ranges::find_if(views, [&](const PartitionView& view) {
        return view.database == worker.database && view.partition == partition;
    });
    if (found != views.end()) return *found;
    return views.emplace_back(PartitionView{
        .database = worker.database, .partition = partition, .next_offset = Offset{0}});
}

void add_worker(std::vector<PartitionView>& views, const WorkerState& worker) {
    const Worker::Status& status = *worker.status;
    for (const PartitionStatus& own : status.lag) {
        PartitionView& view = view_of(views, worker, own.partition);
        view.worker = worker.number;
        view.phase = own.phase;
        view.lag = own.lag;
        view.age = own.age;
        view.standing = own.standing;
        view.stalled = own.stalled;
        view.reason = own.reason;
    }
    for (const HaltedPartition& halted : status.halted) {
        view_of(views, worker, halted.partition).halt = halted.halt;
    }
    for (const auto& [partition, why] : status.paused) {
        view_of(views, worker, partition).paused = why;
    }
    for (const auto& [partition, why] : status.awaiting_schema) {
        view_of(views, worker, partition).awaits_schema = why;
    }
}

nlohmann::json halt_json(const Halt& halt) {
    nlohmann::json json{{"reason", to_text(halt.reason)}, {"text", halt.text}};
    if (halt.lost) json["lost"] = {halt.lost->begin.raw(), halt.lost->end.raw()};
    if (halt.at) json["at"] = halt.at->raw();
    return json;
}

}  // namespace

std::vector<PartitionView> read_partitions(Connection& connection, const std::string& database,
                                           const std::string& group) {
    const QueryResult rows =
        connection.query(sql::offsets_list, {group, std::nullopt, std::nullopt});
    std::vector<PartitionView> views;
    for (int row = 0; row < rows.rows(); ++row) {
        const auto text = [&](int column) { return std::string(rows.text(row, column)); };
        views.push_back(
            {.database = database,
             .partition = {text(0), Partition{static_cast<std::int32_t>(rows.integer(row, 1))}},
             .next_offset = Offset{rows.integer(row, 2)},
             .epoch = rows.integer(row, 3),
             .owner = text(4),
             .taken_at = text(5),
             .moved_at = text(6),
             .retired = !rows.is_null(row, 8),
             .totals = {rows.integer(row, 9), rows.integer(row, 10), rows.integer(row, 11),
                        rows.integer(row, 12), rows.integer(row, 13)}});
    }
    return views;
}

void add_own(std::vector<PartitionView>& views, const ProcessStatus& status) {
    for (const WorkerState& worker : status.workers) {
        if (worker.status) add_worker(views, worker);
    }
}

nlohmann::json to_json(const PartitionView& view) {
    nlohmann::json json{{"database", view.database},
                        {"topic", view.partition.topic},
                        {"partition", view.partition.partition.raw()},
                        {"next_offset", view.next_offset.raw()},
                        {"epoch", view.epoch},
                        {"owner", view.owner},
                        {"taken_at", view.taken_at},
                        {"moved_at", view.moved_at},
                        {"retired", view.retired},
                        {"totals", totals_json(view.totals)},
                        {"lag", nullptr},
                        {"mine", view.worker.has_value()}};
    if (view.lag) json["lag"] = *view.lag;
    if (!view.worker) return json;
    json["worker"] = *view.worker;
    json["phase"] = partition_machine.text(view.phase);
    json["age_ms"] = view.age.count();
    json["standing_ms"] = view.standing.count();
    json["stalled"] = view.stalled;
    if (view.stalled) json["stalled_because"] = view.reason;
    if (view.halt) json["halted"] = halt_json(*view.halt);
    if (!view.paused.empty()) json["paused"] = view.paused;
    if (!view.awaits_schema.empty()) json["awaits_schema"] = view.awaits_schema;
    return json;
}

nlohmann::json topic_json(const std::vector<const PartitionView*>& partitions) {
    Totals totals;
    std::int64_t lag = 0;
    std::int64_t age = 0;
    int with_lag = 0;
    int others = 0;
    int halted = 0;
    int stalled = 0;
    int retired = 0;
    for (const PartitionView* view : partitions) {
        totals += view->totals;
        lag += std::max<std::int64_t>(view->lag.value_or(0), 0);
        with_lag += view->lag ? 1 : 0;
        age = std::max<std::int64_t>(age, view->age.count());
        others += view->worker ? 0 : 1;
        halted += view->halt ? 1 : 0;
        stalled += view->stalled ? 1 : 0;
        retired += view->retired ? 1 : 0;
    }
    return {{"totals", totals_json(totals)},
            {"partitions", partitions.size()},
            {"of_others", others},
            {"halted", halted},
            {"stalled", stalled},
            {"retired", retired},
            {"lag", lag},
            {"lag_of", with_lag},
            {"age_ms", age}};
}

}  // namespace onceward
