#pragma once
// A worker's way to PostgreSQL on which COMMITs lose their answers. Used by one test's thread;
// borrows nothing.

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "tests/support/core_harness.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/unique.h"

namespace onceward::support {

class CutCommits {
  public:
    explicit CutCommits(std::uint16_t server_port)
        : proxy_(CuttingProxy::Protocol::postgres, server_port) {
        proxy_.on_commit([this](const ProxiedCommit&) { return armed_.load(); });
    }
    CoreWorkerOptions through(CoreWorkerOptions options) const {
        options.connection.dsn = proxy_.through(options.connection.dsn.reveal());
        return options;
    }
    // Processes the worker's batch, whose COMMIT is cut at the bytes of the request or of the
    // answer. Expects that it is in doubt, and does what the worker does then.
    void process(CoreWorker& worker) {
        constexpr CommitFault faults[] = {CommitFault::cut_before, CommitFault::cut_inside_request,
                                          CommitFault::cut_after, CommitFault::cut_inside_answer};
        last_ = faults[random_() % 4];
        armed_ = last_;
        try {
            worker.process();
            FAIL() << "the fault was not injected";
        } catch (const ProcessingError& error) {
            EXPECT_TRUE(error.diagnosis().in_doubt) << error.what();
            EXPECT_EQ(error.action, FailureAction::reconnect);
            worker.handle(error, error.action);
        }
        armed_ = CommitFault::none;
    }
    // Whether the server got the whole COMMIT that was cut last.
    bool server_got_it() const {
        return last_ == CommitFault::cut_after || last_ == CommitFault::cut_inside_answer;
    }

  private:
    std::atomic<CommitFault> armed_{CommitFault::none};
    CommitFault last_ = CommitFault::none;
    std::mt19937_64 random_{seed()};
    CuttingProxy proxy_;
};

}  // namespace onceward::support
