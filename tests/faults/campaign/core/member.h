#pragma once
// One worker of the fleet: a thread that runs the product's processor and fences through a proxy of
// its own, and breaks at the places that the plan says. Made and joined by one thread.

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "dedup/retention/watermark.h"
#include "tests/faults/campaign/core/campaign_sink.h"
#include "tests/faults/campaign/core/scene.h"
#include "tests/support/core_harness.h"
#include "tests/support/cutting_proxy.h"

namespace onceward::campaign::core {

class Member final : private StepObserver {
  public:
    Member(Scene& scene, int number, std::uint16_t server_port);
    ~Member() override;
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    void start();
    // The faults end: nothing is armed any more.
    void be_quiet();
    void join();
    // The server is elsewhere now: what was open breaks. REQUIRES: a server with replicas.
    void redirect(std::uint16_t server_port);
    // REQUIRES: joined.
    const Totals& acknowledged() const { return acknowledged_; }

  private:
    struct Killed {};
    void reached(Step step) override;
    bool fire(const PlannedFault& fault, Step step);
    bool fire_in_transaction(const PlannedFault& fault);
    void freeze(Step step);
    void arm_commit(FaultKind kind);
    support::CommitFault commit_arrived(const support::ProxiedCommit& commit);
    int socket();

    void run();
    void step();
    void make_worker();
    void bury();
    void drop_batch();
    void log_failure(const std::map<std::string, int>& before);
    bool at_some_end();
    void look_after_byte_cut();
    void tick_watermarks();

    Scene& scene_;
    int number_;
    std::string name_;
    // Where a fault needs one; it costs every statement two wakes of a thread more.
    std::optional<support::CuttingProxy> proxy_;
    std::uint16_t port_;
    CampaignSink sink_;
    std::optional<support::CoreWorker> worker_;
    std::vector<PlannedFault> waiting_;  // of this worker, not yet injected
    std::vector<int> left_open_;         // descriptors of sessions without a client
    std::map<Partition, WatermarkSampler> samplers_;
    std::chrono::steady_clock::time_point next_tick_{};
    int batch_ = 0;
    bool drop_next_ = false;
    bool killed_ = false;  // and step() has not thrown it yet
    bool look_at_next_ = false;              // the next offset that is committed is checked
    std::optional<std::uint64_t> byte_cut_;  // armed, with the cuts before it
    std::atomic<int> armed_commit_{-1};      // a FaultKind
    int injected_deadlocks_ = 0;
    Totals acknowledged_;
    std::thread thread_;
};

}  // namespace onceward::campaign::core
