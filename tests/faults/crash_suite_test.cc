// Workers that are killed again and again, by a fault point at a step of their work and from
// outside at any time. ONCEWARD_CRASH_KILLS and ONCEWARD_CRASH_MESSAGES make it longer (`make
// crash-test`).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "tests/faults/crash_scene.h"
#include "tests/faults/step_names.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int portion = 25;  // messages sent at once while a worker is waited for
constexpr milliseconds fault_limit{60'000};
constexpr milliseconds drain_limit{120'000};

int setting(const char* name, int otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : std::atoi(value);
}

class CrashSuite : public ::testing::Test {
  protected:
    CrashScene scene_{support::seed()};
    std::vector<ChildProcess> workers_;

    // Sends until the fault point has ended the worker.
    void await_fault(ChildProcess& worker, const std::string& fault) {
        const auto deadline = steady_clock::now() + fault_limit;
        std::optional<int> status;
        while (!status && steady_clock::now() < deadline) {
            scene_.send(portion);
            status = worker.wait(milliseconds(20));
        }
        ASSERT_TRUE(status) << fault << " was never reached\n" << scene_.last_log();
        ASSERT_TRUE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)
            << fault << ": the worker ended otherwise, status " << *status << "\n"
            << scene_.last_log();
    }

    void kill_by_fault_point(int number) {
        const auto& [name, step] =
            named_steps[static_cast<std::size_t>(number) % named_steps.size()];
        const bool once_a_take_over = step == Step::in_rebalance ||
                                      step == Step::before_take_over ||
                                      step == Step::after_take_over;
        const std::uint64_t nth = once_a_take_over ? 1 : 1 + scene_.random()() % 4;
        const std::string fault =
            "ONCEWARD_KILL_AT=" + std::string(name) + ":" + std::to_string(nth);
        ChildProcess worker = scene_.start_worker(fault);
        await_fault(worker, fault);
        ++kills_[std::string(name)];
    }

    // A worker that has stopped itself there, with more messages to come.
    ChildProcess frozen_at(const std::string& step) {
        ChildProcess worker = scene_.start_worker("ONCEWARD_FREEZE_AT=" + step);
        const auto deadline = steady_clock::now() + fault_limit;
        int status = 0;
        while (!WIFSTOPPED(status) && steady_clock::now() < deadline) {
            scene_.send(portion);
            support::eventually(milliseconds(20), [&] {
                return waitpid(worker.pid(), &status, WUNTRACED | WNOHANG) == worker.pid();
            });
        }
        expect_stopped(status, step);
        return worker;
    }
    void expect_stopped(int status, const std::string& step) {
        ASSERT_TRUE(WIFSTOPPED(status)) << step << " was not reached\n" << scene_.last_log();
    }

    void kill_from_outside(int budget) {
        const std::size_t victim = scene_.random()() % workers_.size();
        const auto moment = steady_clock::now() + milliseconds(scene_.random()() % 1500);
        for (int sent = 0; steady_clock::now() < moment;) {
            if (sent < budget) scene_.send(portion);
            sent += portion;
            workers_[victim].wait(milliseconds(10));
        }
        ASSERT_TRUE(workers_[victim].running()) << "a worker left unasked\n" << scene_.last_log();
        workers_[victim].send(SIGKILL);
        workers_[victim].wait(milliseconds(10'000));
        workers_[victim] = scene_.start_worker();
        ++kills_["from outside"];
    }

    void print(const checker::Numbers& numbers, steady_clock::time_point begin) {
        for (const auto& [kind, count] : kills_)
            std::cout << "killed " << kind << ": " << count << "\n";
        std::cout << numbers.messages << " messages, " << numbers.applied << " applied, "
                  << numbers.duplicates << " duplicates, "
                  << std::chrono::duration<double>(steady_clock::now() - begin).count() << " s\n";
    }

    std::map<std::string, int> kills_;
};

TEST_F(CrashSuite, AppliesEachKeyOnceWhateverStepWorkersDieAt) {
    const int kills = setting("ONCEWARD_CRASH_KILLS", 10);
    const int messages = setting("ONCEWARD_CRASH_MESSAGES", 20'000);
    const auto begin = steady_clock::now();
    scene_.send(100);
    for (int worker = 0; worker < 3; ++worker) workers_.push_back(scene_.start_worker());
    const int first_step = static_cast<int>(scene_.random()() % named_steps.size());
    for (int kill = 0; kill < kills && !HasFatalFailure(); ++kill) {
        const int share = std::max(0, messages - scene_.sent()) / (kills - kill);
        scene_.send(share / 2);
        if (kill % 2 == 0) {
            kill_by_fault_point(first_step + kill / 2);
        } else {
            kill_from_outside(share / 2);
        }
    }
    ASSERT_FALSE(HasFatalFailure());
    scene_.send(std::max(0, messages - scene_.sent()));
    ASSERT_TRUE(scene_.drained(drain_limit)) << "I12: the lag did not go to 0\n"
                                             << scene_.last_log();
    for (ChildProcess& worker : workers_) scene_.stop_worker(worker);
    const checker::Verdict verdict = scene_.verdict();
    EXPECT_THAT(complaints(verdict), ::testing::IsEmpty());
    print(verdict.numbers, begin);
}

// Frozen with rows written and COMMIT not sent, for longer than any time-out: its partitions go to
// others, and what it had in hand must not land when it wakes.
TEST_F(CrashSuite, CommitsNothingWhenItWakesInsideATransaction) {
    for (const std::string step : {"after_fence", "after_sink", "before_commit"}) {
        scene_.send(2000);
        ChildProcess frozen = frozen_at(step + ":2");
        ASSERT_FALSE(HasFatalFailure());
        const auto frozen_since = steady_clock::now();
        ChildProcess other = scene_.start_worker();
        scene_.send(1000);
        ASSERT_TRUE(scene_.drained(drain_limit)) << "the others did not continue: " << step << "\n"
                                                 << scene_.last_log();
        // Longer than max.poll.interval.ms.
        const auto wake = frozen_since + milliseconds(3000);
        support::eventually(milliseconds(10'000), [&] { return steady_clock::now() >= wake; });
        const std::int64_t before = scene_.rows();
        frozen.send(SIGCONT);
        scene_.send(1000);
        ASSERT_TRUE(scene_.drained(drain_limit)) << step << "\n" << scene_.last_log();
        EXPECT_TRUE(frozen.running()) << step;
        EXPECT_GT(scene_.rows(), before);
        scene_.stop_worker(other);
        scene_.stop_worker(frozen);
        EXPECT_THAT(complaints(scene_.verdict()), ::testing::IsEmpty()) << step;
    }
}

// Both froze with a batch in hand and no transaction. No time-out ends what the first begins when
// it wakes: only the fence, which is the second one's by then, keeps its rows out.
TEST_F(CrashSuite, CommitsNothingWhenItWakesWithABatchWhoseFenceIsAnothers) {
    scene_.send(3000);
    ChildProcess first = frozen_at("before_begin:2");
    ASSERT_FALSE(HasFatalFailure());
    const std::int64_t epochs = scene_.database().number("SELECT sum(epoch) FROM fences");
    ChildProcess second = frozen_at("before_begin:1");
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_GT(scene_.database().number("SELECT sum(epoch) FROM fences"), epochs);
    first.send(SIGCONT);
    ASSERT_TRUE(scene_.drained(drain_limit)) << scene_.last_log();
    second.send(SIGCONT);
    scene_.send(1000);
    ASSERT_TRUE(scene_.drained(drain_limit)) << scene_.last_log();
    scene_.stop_worker(first);
    scene_.stop_worker(second);
    EXPECT_THAT(complaints(scene_.verdict()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace onceward::faults
