#pragma once
// Does a plan's faults to a stage and a fleet, and sees whether each took effect. Used by the
// thread of the lane. What cannot be done at that moment (a lock on a server that is down) has no
// effect and is not counted; it is no failure.

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/campaign/answer_faults.h"
#include "tests/faults/campaign/commit_faults.h"
#include "tests/faults/campaign/feeder.h"
#include "tests/faults/campaign/fleet.h"
#include "tests/faults/campaign/operator.h"
#include "tests/faults/campaign/small_disk.h"
#include "tests/faults/campaign/stage.h"
#include "tests/faults/campaign/tally.h"
#include "tests/support/database.h"

namespace onceward::campaign {

class Injector {
  public:
    using Clock = std::chrono::steady_clock;

    struct Parts {
        const Plan& plan;
        const Names& names;
        Stage& stage;
        Fleet& fleet;
        Feeder& feeder;
        Tally& tally;
        std::function<void()> before_fail_over;
        SmallDisk* disk = nullptr;  // none if the seed has none
    };
    explicit Injector(Parts parts);
    ~Injector();

    void begin(const FaultPlan& fault);
    // Checks what is under way, and ends what is over.
    void advance();
    // Ends all of it; the stage is healed afterwards.
    void finish();
    bool failed_over() const { return failed_over_; }
    // From when to when, in microseconds since 1970, commits were made that a fail-over or a
    // restore has lost.
    struct LostTime {
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
    };
    LostTime lost() const { return lost_; }
    // When a topic was in trouble, or from when on it must make no progress.
    struct TopicTime {
        std::size_t topic = 0;
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
    };
    const std::vector<TopicTime>& troubles() const { return troubles_; }
    const std::vector<TopicTime>& standstills() const { return standstills_; }
    // Says again what was killed under way. Everything must be healed.
    void say_again();

  private:
    struct Ongoing {
        FaultPlan fault;
        Clock::time_point end;
        std::function<void()> look;
        std::function<void()> over;
    };

    void dispatch(const FaultPlan& fault);
    void go_on(const FaultPlan& fault, std::function<void()> over, std::function<void()> look = {});
    void count(const FaultPlan& fault, bool took_effect, const std::string& otherwise);

    void kill_worker(const FaultPlan& fault);
    int leading_slot();
    void freeze_worker(const FaultPlan& fault);
    void terminate_worker(const FaultPlan& fault);
    void churn(const FaultPlan& fault);

    void cut(const FaultPlan& fault, support::CuttingProxy& proxy);
    void byte_cut(const FaultPlan& fault, support::CuttingProxy& proxy);
    void black_hole(const FaultPlan& fault, support::CuttingProxy& proxy);
    void slow_down(const FaultPlan& fault, support::CuttingProxy& proxy);
    void change_answers(const FaultPlan& fault);
    void step_clock(const FaultPlan& fault);
    void move_leaders(const FaultPlan& fault);
    void await_moved(const FaultPlan& fault, int broker, int led);
    int led_by(int broker);
    void at_commits(const FaultPlan& fault, support::CommitFault what);

    bool broker_away(const FaultPlan& fault);
    void kill_broker(const FaultPlan& fault);
    bool await_coordinator();
    void await_broker(const FaultPlan& fault);
    void freeze_broker(const FaultPlan& fault);
    void commit_as_stranger(const FaultPlan& fault);
    void add_partitions(const FaultPlan& fault);
    void trim(const FaultPlan& fault);

    void stop_postgres(const FaultPlan& fault);
    void lock_table(const FaultPlan& fault);
    void lock_fences(const FaultPlan& fault);
    void hold_lock(const FaultPlan& fault, const std::string& statement,
                   const std::function<void()>& released = {});
    void terminate_backends(const FaultPlan& fault);
    void make_read_only(const FaultPlan& fault);
    void fill_connections(const FaultPlan& fault);
    void fail_over(const FaultPlan& fault);
    void fill_disk(const FaultPlan& fault);
    void restore_server(const FaultPlan& fault);
    bool every_partition_has_a_fence();
    void lock_table_for_long(const FaultPlan& fault);
    void change_table(const FaultPlan& fault);
    void command(const FaultPlan& fault);
    // Each answers whether it took effect.
    std::function<bool()> work_of(const FaultPlan& fault, std::size_t topic, int partition);
    std::function<bool()> pass_range(const FaultPlan& fault, std::size_t topic, int partition);
    std::function<bool()> import_keys(const FaultPlan& fault, std::size_t topic);
    std::function<bool()> forget_key(const FaultPlan& fault, std::size_t topic);
    std::function<bool()> kill_under_way(const FaultPlan& fault, const std::string& topic);
    void by_a_stranger(const FaultPlan& fault, std::function<bool()> work);
    void migrate_again(const FaultPlan& fault);
    void trouble_one_topic(const FaultPlan& fault);
    void trouble_until(const FaultPlan& fault, std::size_t topic, const std::string& end,
                       const std::string& said,
                       std::shared_ptr<support::Database> holder = nullptr);
    void add_partitions_beside_reach(const FaultPlan& fault);
    std::string dsn() const { return parts_.stage.direct_dsn() + " connect_timeout=2"; }
    // A superuser's session of the campaign's own.
    std::unique_ptr<support::Database> session();
    bool another_is_on(FaultKind kind) const;

    Parts parts_;
    std::shared_ptr<CommitFaults> commits_ = std::make_shared<CommitFaults>();
    std::shared_ptr<AnswerFaults> answers_ = std::make_shared<AnswerFaults>();
    std::vector<Ongoing> ongoing_;
    std::vector<std::jthread> strangers_;
    std::vector<std::pair<FaultPlan, std::shared_ptr<std::atomic<bool>>>> by_strangers_;
    std::future<bool> starting_broker_;
    std::future<void> moved_;
    bool started_again_ = false;
    Clock::time_point broker_killed_{};
    bool failed_over_ = false;
    LostTime lost_;
    std::vector<TopicTime> troubles_;
    std::vector<TopicTime> standstills_;
    struct Again {
        FaultPlan fault;
        std::vector<std::string> words;
        std::shared_ptr<std::atomic<bool>> killed;
    };
    std::vector<Again> again_;
    Operator operator_;
};

}  // namespace onceward::campaign
