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

#include "tests/faults/campaign/commit_faults.h"
#include "tests/faults/campaign/feeder.h"
#include "tests/faults/campaign/fleet.h"
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
    };
    explicit Injector(Parts parts);
    ~Injector();

    void begin(const FaultPlan& fault);
    // Looks at what goes on, and ends what is over.
    void advance();
    // Ends all of it; the stage is healed afterwards.
    void finish();
    bool failed_over() const { return failed_over_; }

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
    void hold_lock(const FaultPlan& fault, const std::string& statement);
    void terminate_backends(const FaultPlan& fault);
    void make_read_only(const FaultPlan& fault);
    void fill_connections(const FaultPlan& fault);
    void fail_over(const FaultPlan& fault);
    // A superuser's session of the campaign's own.
    std::unique_ptr<support::Database> session();
    bool another_is_on(FaultKind kind) const;

    Parts parts_;
    std::shared_ptr<CommitFaults> commits_ = std::make_shared<CommitFaults>();
    std::vector<Ongoing> ongoing_;
    std::vector<std::jthread> strangers_;
    std::vector<std::pair<FaultPlan, std::shared_ptr<std::atomic<bool>>>> foreign_commits_;
    std::future<bool> starting_broker_;
    bool started_again_ = false;
    Clock::time_point broker_killed_{};
    bool failed_over_ = false;
};

}  // namespace onceward::campaign
