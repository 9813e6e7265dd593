#pragma once
// The program's own `run` in a process of its own, which can be killed: with the bench's plain
// form, a ledger by `log` or `table`, and default settings but for the session timeout. Used by one
// thread; failures are exceptions.
//
// One topic with a named ledger, or many topics with their default ledgers.

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench/consumption.h"
#include "lab/demo/stage.h"
#include "lab/embedded/child_process.h"

namespace onceward::bench {

// Seconds, since each began.
struct ProcessCpu {
    double worker = 0;
    double sessions = 0;  // of the server, for this process
};

// What the process's configuration says.
struct ProcessSetup {
    struct Topic {
        std::string name;
        std::string table = plain_table;
    };
    std::string group;
    std::vector<Topic> topics;
    std::string ledger{};  // of all topics; '': each has the ledger that is its default
    Claims claims = Claims::log;
    int workers = 1;
    std::chrono::seconds session_timeout{6};
};

class WorkerProcess {
  public:
    // Returns as soon as it was started.
    WorkerProcess(const Place& place, const ProcessSetup& setup, const Tables& tables);
    // Returns when it has taken the fences of all of the topic's partitions.
    WorkerProcess(const Place& place, const Workload& topic, Tables& tables,
                  Claims claims = Claims::log,
                  std::chrono::seconds session_timeout = std::chrono::seconds(6));

    pid_t pid() const { return process_.pid(); }
    ProcessCpu cpu(Tables& tables) const;
    // Polls until it holds; std::runtime_error where the process ends before.
    void wait_until(const std::function<bool()>& holds, std::string_view what);
    // SIGSTOP and SIGCONT; the group keeps it for the session timeout.
    void freeze() { process_.send(SIGSTOP); }
    void thaw() { process_.send(SIGCONT); }
    // Returns when the process has ended.
    void end(int signal);

  private:
    demo::TemporaryFolder folder_;
    ChildOptions options_;
    ChildProcess process_;
};

}  // namespace onceward::bench
