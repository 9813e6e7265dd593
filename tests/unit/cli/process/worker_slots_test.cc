// The workers of a process, without Kafka: restarted, later and later, and never at the cost of the
// others; and replaced as a whole by a reload, or not at all.

#include "cli/process/worker_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/support/eventually.h"

namespace onceward {
namespace {

using support::eventually;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr auto in_time = 10s;

// What a test sees of a worker that it gave to the slots, and what it makes of it.
struct Seen {
    std::atomic<bool> started = false;
    std::atomic<bool> stopping = false;
    std::atomic<bool> gone = false;
    bool cannot_start = false;
    Mutex mutex;
    std::optional<std::string> finished ONCEWARD_GUARDED_BY(mutex);
    std::promise<void> batch_ends;  // stop() waits for it
    std::shared_future<void> end = batch_ends.get_future().share();
};

class FakeWorker final : public SlotWorker {
  public:
    explicit FakeWorker(Seen& seen) : seen_(seen) {}
    ~FakeWorker() override { seen_.gone = true; }
    void start() override {
        if (seen_.cannot_start) throw std::runtime_error("no thread");
        seen_.started = true;
    }
    void stop() override {
        seen_.stopping = true;
        seen_.end.wait();
    }
    std::optional<std::string> finished() const override {
        const MutexLock lock(seen_.mutex);
        return seen_.finished;
    }
    Worker::Status status() const override {
        Worker::Status status;
        status.counts.rejoins = 1;
        return status;
    }
    std::optional<FetchSuspect> suspect() const override { return std::nullopt; }

  private:
    Seen& seen_;
};

class WorkerSlotsTest : public testing::Test {
  protected:
    WorkerSlotsTest() { slots_->start(); }
    ~WorkerSlotsTest() override {
        for (auto& [name, seen] : seen_) release(name);
    }

    // `name` is the configuration and the slot, such as old0.
    WorkerSlots::Make make(const std::string& configuration) {
        return [this, configuration](std::size_t number) {
            const std::string name = configuration + std::to_string(number);
            made_.push_back(name);
            if (cannot_be_made_.contains(name)) throw std::runtime_error("no memory");
            return std::make_unique<FakeWorker>(seen_[name]);
        };
    }
    void release(const std::string& name) {
        if (released_.insert(name).second) seen_[name].batch_ends.set_value();
    }
    // Until the new ones have started.
    bool renewed() {
        return eventually(in_time, [&] {
            slots_->tend(now_);
            return !slots_->renewing();
        });
    }
    std::vector<std::string> working() {
        std::vector<std::string> names;
        for (auto& [name, seen] : seen_) {
            if (seen.started && !seen.stopping && !seen.gone) names.push_back(name);
        }
        return names;
    }

    std::map<std::string, Seen> seen_;  // outlives the slots
    std::vector<std::string> made_;
    std::set<std::string> cannot_be_made_;
    std::set<std::string> released_;
    WorkerSlots::Clock::time_point now_ = WorkerSlots::Clock::now();
    std::unique_ptr<WorkerSlots> slots_ = std::make_unique<WorkerSlots>(
        "shop", std::vector<std::string>{"west", "west", "east"}, make("old"));
};

TEST(WorkerSlots, WaitTwiceAsLongAfterEachFailureAndNeverBeyondAMinute) {
    EXPECT_EQ(restart_pause(1), 2s);
    EXPECT_EQ(restart_pause(2), 4s);
    EXPECT_EQ(restart_pause(5), 32s);
    EXPECT_EQ(restart_pause(6), 1min);
    EXPECT_EQ(restart_pause(1000), 1min);
}

TEST_F(WorkerSlotsTest, ANewOneStartsWhenTheOldOneHasEndedAndNoLaterThanThat) {
    slots_->renew({0, 1}, make("new"));
    EXPECT_TRUE(
        eventually(in_time, [&] { return seen_["old0"].stopping && seen_["old1"].stopping; }));
    slots_->tend(now_);
    EXPECT_THAT(working(), ElementsAre("old2")) << "the old ones still commit";
    EXPECT_FALSE(seen_["old0"].gone);

    release("old1");
    EXPECT_TRUE(eventually(in_time, [&] {
        slots_->tend(now_);
        return seen_["new1"].started.load();
    }));
    EXPECT_TRUE(slots_->renewing()) << "one is still missing";
    EXPECT_FALSE(seen_["new0"].started);
    release("old0");
    EXPECT_TRUE(renewed());
    EXPECT_THAT(working(), ElementsAre("new0", "new1", "old2"));
    EXPECT_TRUE(seen_["old0"].gone && seen_["old1"].gone);
    EXPECT_EQ(slots_->status().of_ended_workers.rejoins, 2) << "their counts stay";
}

TEST_F(WorkerSlotsTest, IfOneCannotBeMadeNoneEnds) {
    cannot_be_made_ = {"new1"};
    EXPECT_THROW(slots_->renew({0, 1, 2}, make("new")), std::runtime_error);
    EXPECT_FALSE(slots_->renewing());
    slots_->tend(now_);
    EXPECT_THAT(working(), ElementsAre("old0", "old1", "old2"));
    EXPECT_TRUE(seen_["new0"].gone) << "it was made and is not needed";
    EXPECT_FALSE(seen_["new0"].started);
    EXPECT_FALSE(seen_["old0"].stopping);

    cannot_be_made_.clear();
    for (const char* name : {"old0", "old1", "old2"}) release(name);
    slots_->renew({0, 1, 2}, make("newer"));
    EXPECT_TRUE(renewed());
    EXPECT_THAT(working(), ElementsAre("newer0", "newer1", "newer2"));
}

TEST_F(WorkerSlotsTest, OneThatCannotStartIsTriedAgainAndTheRenewalIsNotOver) {
    release("old0");
    seen_["new0"].cannot_start = true;
    slots_->renew({0}, make("new"));
    EXPECT_TRUE(eventually(in_time, [&] {
        slots_->tend(now_);
        return slots_->status().workers[0].ended == "no thread";
    }));
    EXPECT_TRUE(slots_->renewing());
    slots_->tend(now_ + restart_pause(1) - 1ms);
    EXPECT_TRUE(slots_->renewing()) << "it waits";
    seen_["old0"].cannot_start = false;
    slots_->tend(now_ + restart_pause(1));
    EXPECT_FALSE(slots_->renewing());
    EXPECT_THAT(made_, ElementsAre("old0", "old1", "old2", "new0", "old0"));
}

TEST_F(WorkerSlotsTest, OneThatWaitsForItsRestartIsRenewedWithoutItsPause) {
    {
        const MutexLock lock(seen_["old2"].mutex);
        seen_["old2"].finished = "fenced";
    }
    slots_->tend(now_);
    EXPECT_TRUE(seen_["old2"].gone);
    slots_->renew({2}, make("new"));
    slots_->tend(now_);
    EXPECT_THAT(working(), ElementsAre("new2", "old0", "old1"));
    EXPECT_FALSE(slots_->renewing());
}

TEST_F(WorkerSlotsTest, ADrainWaitsForThoseThatEndAndStartsNoNewOne) {
    slots_->renew({0}, make("new"));
    EXPECT_TRUE(eventually(in_time, [&] { return seen_["old0"].stopping.load(); }));
    auto drained = std::async(std::launch::async, [&] { slots_->drain(); });
    EXPECT_TRUE(eventually(in_time, [&] { return seen_["old2"].stopping.load(); }));
    release("old1");
    release("old2");
    EXPECT_EQ(drained.wait_for(0s), std::future_status::timeout) << "its batch is in flight";
    release("old0");
    EXPECT_EQ(drained.wait_for(in_time), std::future_status::ready);
    slots_.reset();
    EXPECT_FALSE(seen_["new0"].started);
    EXPECT_TRUE(seen_["new0"].gone);
}

TEST_F(WorkerSlotsTest, EndWithAWorkerThatEnds) {
    slots_->renew({0, 1}, make("new"));
    EXPECT_TRUE(eventually(in_time, [&] { return seen_["old1"].stopping.load(); }));
    for (const char* name : {"old0", "old1"}) release(name);
    slots_.reset();
    EXPECT_THAT(working(), IsEmpty());
}

}  // namespace
}  // namespace onceward
