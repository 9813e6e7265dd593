// The rows that ask whether a process's cost grows with the number of its partitions and topics: 22
// and 23.

#include "lab/bench/bench.h"
#include "lab/bench/format.h"
#include "lab/bench/many.h"

namespace onceward::bench {
namespace {

constexpr int few_partitions = 4;
constexpr int many_partitions = 500;
constexpr int many_topics = 64;
constexpr int partitions_each = 2;

std::vector<Measurement> runs_of(const std::vector<ManyCost>& costs) {
    std::vector<Measurement> runs;
    for (const ManyCost& cost : costs) runs.push_back(cost.run);
    return runs;
}

std::vector<double> values(const std::vector<ManyCost>& costs, double (*of)(const ManyCost&)) {
    std::vector<double> found;
    for (const ManyCost& cost : costs) found.push_back(of(cost));
    return found;
}

double cpu_of(const ManyCost& cost) {
    return cost.run.cpu.worker / static_cast<double>(cost.run.messages);
}
double memory_of(const ManyCost& cost) { return cost.megabytes; }
double start_of(const ManyCost& cost) { return cost.start; }
double restart_of(const ManyCost& cost) { return cost.restart; }

// Milliseconds that each of so many further partitions or topics takes, by the difference within a
// pair.
Summary milliseconds_each(const std::vector<std::vector<ManyCost>>& costs, int further,
                          double (*of)(const ManyCost&)) {
    std::vector<double> each;
    for (std::size_t i = 0; i < costs[0].size(); ++i) {
        each.push_back((of(costs[0][i]) - of(costs[1][i])) * 1e3 / further);
    }
    return summarize(std::move(each));
}

std::string note_of(const std::string& name, const std::vector<ManyCost>& costs) {
    return name + ": " + fixed(summarize(values(costs, start_of)).median, 1) +
           " s from the process's start to all fences and the first commit, " +
           fixed(summarize(values(costs, restart_of)).median, 1) +
           " s from a restart to all fences, " +
           fixed(summarize(values(costs, memory_of)).median, 0) + " MB resident at most (medians)";
}

}  // namespace

// Topics that together have so many messages.
std::vector<std::unique_ptr<Topic>> Bench::topics_of(int count, int partitions) const {
    std::vector<std::unique_ptr<Topic>> topics;
    for (int i = 0; i < count; ++i) {
        topics.push_back(make_topic(extent_.messages / count, false, Form::plain, partitions));
        topics.back()->fill();
    }
    return topics;
}

RowResult Bench::many_against_few(std::string_view row, const std::string& setting, int further,
                                  const std::vector<ManySide>& sides) {
    std::vector<std::vector<ManyCost>> costs(sides.size());
    for (round_ = 1; round_ <= extent_.pairs; ++round_) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            ManyTopics many;
            for (const auto& topic : *sides[i].topics) many.topics.push_back(topic->workload());
            many.workers = sides[i].workers;
            Tables tables(setup_.postgres);
            const ManyCost cost = run_many(setup_.place, many, tables);
            say(sides[i].name, cost.run);
            setup_.progress("     " + fixed(cost.start, 2) + " s to the first commit, " +
                            fixed(cost.restart, 2) + " s to restart, " + fixed(cost.megabytes, 0) +
                            " MB");
            costs[i].push_back(cost);
        }
    }
    RowResult result = begin(row, setting);
    const auto targets = targets_of(row);
    const auto against = [&](double (*of)(const ManyCost&)) {
        return ratio(values(costs[0], of), values(costs[1], of));
    };
    result.outcomes = {{targets[0], ratio(rates(runs_of(costs[0])), rates(runs_of(costs[1])))},
                       {targets[1], against(cpu_of)},
                       {targets[2], against(memory_of)},
                       {targets[3], milliseconds_each(costs, further, start_of)},
                       {targets[4], milliseconds_each(costs, further, restart_of)}};
    for (std::size_t i = 0; i < sides.size(); ++i) {
        result.lines.push_back(line(sides[i].name, runs_of(costs[i])));
        result.notes.push_back(note_of(sides[i].name, costs[i]));
    }
    return result;
}

RowResult Bench::partitions() {
    const auto many = topics_of(1, many_partitions);
    const auto few = topics_of(1, few_partitions);
    constexpr int workers = 4;
    return many_against_few(
        "22",
        grouped(extent_.messages) +
            " JSON messages of 374 bytes with a key each in a topic that is full, `onceward run` "
            "with `workers: 4` and else default settings but a session timeout of 6 s, `log`, "
            "reach global, the first 5 % not measured",
        many_partitions - few_partitions,
        {{std::to_string(many_partitions) + " partitions", &many, workers},
         {std::to_string(few_partitions) + " partitions", &few, workers}});
}

RowResult Bench::topics() {
    const auto many = topics_of(many_topics, partitions_each);
    const auto few = topics_of(1, many_topics * partitions_each);
    return many_against_few(
        "23",
        grouped(extent_.messages) +
            " JSON messages of 374 bytes with a key each in topics that are full, `onceward run` "
            "with one worker and else default settings but a session timeout of 6 s, each topic "
            "with a table and a `log` ledger of its own, the first 5 % not measured",
        many_topics - 1,
        {{"64 topics of 2 partitions", &many, 1}, {"one topic of 128 partitions", &few, 1}});
}

}  // namespace onceward::bench
