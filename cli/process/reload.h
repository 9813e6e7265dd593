#pragma once
// Reloads the configuration's file while the process works. A reload is requested by a signal or at
// the admin port, and done by the thread that calls tend(). The new file is read, checked and
// judged as a whole; it is applied only if a running process can take all of its changes. Otherwise
// the process continues as it is. One reload is under way at a time; requests during it share the
// next one. ask() and state() are thread-safe, the rest is for one thread.

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/admin/process_status.h"
#include "cli/configuration/current.h"
#include "cli/operate/admin_acts.h"
#include "cli/plan/consequence.h"
#include "dedup/base/mutex.h"

namespace onceward {

struct ReloadOutcome {
    enum class Result : std::uint8_t { applied, unchanged, refused };
    Result result = Result::unchanged;
    std::string refusal = {};                    // why; '' unless it was refused
    std::vector<Consequence> consequences = {};  // of what changed
};
std::string_view to_text(ReloadOutcome::Result result);

// What has to be done with the file as it is now. Reads it and the environment, opens no
// connection, and changes nothing. Does not throw for what is in the file.
struct ReloadPlan {
    std::shared_ptr<const Configuration> next;  // null unless it is to be applied
    std::set<std::string> servers = {};  // whose topics come, go or change, by name
    ReloadOutcome outcome;
};
ReloadPlan plan_reload(const Configuration& now);

class Reloads {
  public:
    struct Process {
        // Lets the workers begin with it. If it throws, it has not changed anything.
        std::function<void(const ReloadPlan& plan)> apply;
        // Whether the old workers have ended, and new ones have begun in place of all.
        std::function<bool()> applied;
        // For the service manager: before the file is read, and when all is done.
        std::function<void()> begins;
        std::function<void()> ends;
    };
    // `current` outlives it.
    Reloads(CurrentConfiguration& current, Process process);
    // `by`: for the log.
    std::shared_future<ReloadOutcome> ask(const std::string& by);
    // To be called again and again.
    void tend();
    ReloadState state() const;

  private:
    struct Asked {
        std::promise<ReloadOutcome> promise;
        std::shared_future<ReloadOutcome> outcome = promise.get_future().share();
        std::string by;
    };
    void begin(Asked& asked);
    void end(ReloadOutcome outcome);

    CurrentConfiguration& current_;
    Process process_;
    std::unique_ptr<Asked> under_way_;  // of the thread that calls tend()
    ReloadOutcome wanted_;              // what becomes of it once the workers have ended
    mutable Mutex mutex_;
    std::unique_ptr<Asked> next_ ONCEWARD_GUARDED_BY(mutex_);
    ReloadState state_ ONCEWARD_GUARDED_BY(mutex_);
};

// For the admin port: asks, and waits for this long at most, as other acts wait during that time.
ReloadAct reload_act(Reloads& reloads, std::chrono::milliseconds limit);

}  // namespace onceward
