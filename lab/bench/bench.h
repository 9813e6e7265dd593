#pragma once
// What the rows' measuring shares: the topics, the rounds, the words for a setting. One method for
// each row. Used by one thread; failures are exceptions.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench/rows.h"
#include "lab/bench/topic.h"

namespace onceward::bench {

class LoadedLedger;

struct Side {
    std::string name;
    std::function<Measurement()> run;
};

// How long messages took in one run under a steady load, in milliseconds: 50 %, 99 % and 99.9 % of
// them at most, and the slowest one. `late`: how late the producer itself was at most.
struct SteadyTimes {
    double p50 = 0;
    double p99 = 0;
    double p999 = 0;
    double longest = 0;
    double late = 0;
};

// The runs at one rate.
struct SteadyRuns {
    double share = 0;  // of the highest rate
    double rate = 0;   // messages a second
    std::vector<SteadyTimes> runs;
};

struct ManySide {
    std::string name;
    const std::vector<std::unique_ptr<Topic>>* topics = nullptr;
    int workers = 1;
};

class Bench {
  public:
    explicit Bench(const Setup& setup) : setup_(setup), extent_(setup.extent) {}

    std::vector<RowResult> against_dedup_off(const std::vector<std::string>& rows);
    RowResult isolation();
    RowResult replay_storm();
    RowResult single();
    RowResult workers();
    RowResult duplicates();
    RowResult latency();
    RowResult idle();
    RowResult traced();
    RowResult avro();
    RowResult under_load();
    RowResult stores();
    RowResult partitions();
    RowResult topics();
    RowResult debezium();
    RowResult spring();
    RowResult spring_inbox();
    RowResult kcat();
    // Rows 7, 12, 13 and 14, of one ledger that is loaded once.
    std::vector<RowResult> loaded(const std::vector<std::string>& rows);
    RowResult purge();
    RowResult merging();

  private:
    Plan plan(Claims claims, int workers = 1) const { return {claims, workers, extent_.batch}; }
    std::unique_ptr<Topic> make_topic(std::int64_t messages, bool duplicates,
                                      Form form = Form::plain, int partitions = 0) const;
    std::unique_ptr<Topic> filled(std::int64_t messages, bool duplicates, Form form) const;
    // For the peers' rows: `log` with one worker, and another program to compare with.
    Side beside_peers(const Topic& topic);
    Side peer(const Topic& topic, const char* name, const char* program, const char* table);
    RowResult begin_peers(std::string_view row, const std::string& setting) const;
    const Topic& plain();
    Side consumed(const Topic& topic, const Plan& plan, std::optional<std::int64_t> part = {});
    // Each side once in each round.
    std::vector<std::vector<Measurement>> in_turn(const std::vector<Side>& sides);
    // In a loaded ledger, without the claims of earlier runs.
    Measurement consume_loaded(
        const LoadedLedger& ledger, Tables& tables, const Topic& topic, const Plan& by,
        const std::function<void()>& meanwhile = [] {});
    // A worker's process over the tables' ledger is killed; seconds to another one's first commit.
    double after_a_kill(Tables& tables);
    // Messages a second that pass while a producer sends as fast as it can.
    double highest_rate(const ConnectionOptions& postgres) const;
    double by_processes(const ConnectionOptions& postgres, Claims claims) const;
    // Shares of that rate in turn, each once in each round; of a lower one if a steady producer
    // cannot keep up.
    std::vector<SteadyRuns> steady_rounds(const ConnectionOptions& postgres);
    std::vector<SteadyRuns> steady_rounds_of(const ConnectionOptions& postgres, double highest);
    SteadyTimes steady(const ConnectionOptions& postgres, double rate) const;
    std::vector<std::unique_ptr<Topic>> topics_of(int count, int partitions) const;
    // The first side, with so many further partitions or topics, against the second one: rate, CPU,
    // memory, start.
    RowResult many_against_few(std::string_view row, const std::string& setting, int further,
                               const std::vector<ManySide>& sides);
    // What another process pays that only reads what is claimed.
    std::string cost_of_reading_along();
    void say(const std::string& name, const Measurement& run) const;
    RowResult begin(std::string_view row, const std::string& setting) const;
    std::string consumed_setting(std::int64_t times = 1) const;

    const Setup& setup_;
    const Extent& extent_;
    std::unique_ptr<Topic> plain_;  // filled, without duplicates
    int round_ = 0;
};

}  // namespace onceward::bench
