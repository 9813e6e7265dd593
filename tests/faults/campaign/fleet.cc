#include "tests/faults/campaign/fleet.h"

#include <sys/wait.h>

#include <fstream>
#include <vector>

#include "tests/faults/campaign/false_clock.h"
#include "tests/faults/step_names.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds death_limit{10'000};
// A drain is overdue 20 s after its own limit of 1 s.
constexpr milliseconds leave_limit{25'000};

char state_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t bracket = text.rfind(')');
    return bracket == std::string::npos || bracket + 2 >= text.size() ? '?' : text[bracket + 2];
}

bool stopped(pid_t process) { return state_of(process) == 'T'; }

std::string fault_variable(const FaultPlan& fault) {
    return (fault.kind == FaultKind::freeze_at_step ? "ONCEWARD_FREEZE_AT=" : "ONCEWARD_KILL_AT=") +
           std::string(name_of_step(fault.step)) + ":" + std::to_string(fault.amount);
}

std::string described(int status) {
    if (WIFEXITED(status)) return "exit " + std::to_string(WEXITSTATUS(status));
    return "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

Fleet::Fleet(const Plan& plan, const Names& names, const Addresses& addresses, Tally& tally)
    : plan_(plan), names_(names), addresses_(addresses), tally_(tally) {
    for (int slot = 0; slot < plan.fleet.processes; ++slot) workers_[slot];
}

std::filesystem::path Fleet::log(int slot) const {
    return names_.folder / ("worker-" + std::to_string(slot) + ".log");
}

void Fleet::launch(int slot, Worker& worker) {
    const auto configuration = names_.folder / ("worker-" + std::to_string(slot) + ".yaml");
    if (!std::filesystem::exists(configuration))
        std::ofstream(configuration) << worker_configuration(plan_, names_, addresses_, slot);
    ChildOptions options;
    options.output = log(slot);
    worker.fault = std::exchange(worker.next_fault, std::nullopt);
    if (worker.fault) {
        options.command = {ONCEWARD_FAULTY_EXECUTABLE, configuration.string()};
        options.environment = {fault_variable(*worker.fault)};
    } else {
        options.command = {ONCEWARD_EXECUTABLE, "run", "--config", configuration.string()};
    }
    // An option of jemalloc: freed memory is overwritten, so that its use ends the process.
    options.environment.push_back("MALLOC_CONF=junk:free");
    if (plan_.trial == Trial::clocks) {
        for (std::string& entry : false_clock(names_.clock(slot)))
            options.environment.push_back(std::move(entry));
    }
    std::error_code none;  // no log yet
    const std::uintmax_t logged = std::filesystem::file_size(log(slot), none);
    worker.logged = none ? 0 : logged;
    worker.process.emplace(options);
    worker.start.reset();
    worker.left_since.reset();
    worker.without_server = false;
    worker.thaw.reset();
    tally_.write("worker " + std::to_string(slot) + " started, process " +
                 std::to_string(worker.process->pid()) +
                 (worker.fault ? " with " + fault_variable(*worker.fault) : ""));
    if (told_) told_(worker.process->pid());
}

void Fleet::start(int slot) { launch(slot, workers_[slot]); }

bool Fleet::join(int slot) {
    Worker& worker = workers_[slot];
    if (worker.process || worker.start) return false;
    launch(slot, worker);
    return true;
}

void Fleet::start_later(int slot, milliseconds delay) {
    workers_[slot].start = Clock::now() + delay;
}

void Fleet::start_faulty_later(int slot, const FaultPlan& fault, milliseconds delay) {
    workers_[slot].next_fault = fault;
    start_later(slot, delay);
}

int Fleet::free_slot(std::uint32_t target) const {
    std::vector<int> free;
    for (const auto& [slot, worker] : workers_) {
        if (is_free(slot)) free.push_back(slot);
    }
    return free.empty() ? -1 : free[target % free.size()];
}

bool Fleet::is_free(int slot) const {
    const auto found = workers_.find(slot);
    if (found == workers_.end()) return false;
    const Worker& worker = found->second;
    return worker.process && !worker.fault && !worker.thaw && !worker.left_since;
}

int Fleet::running() const {
    int count = 0;
    for (const auto& [slot, worker] : workers_) count += worker.process ? 1 : 0;
    return count;
}

bool Fleet::kill_now(int slot) {
    Worker& worker = workers_[slot];
    if (!worker.process || !worker.process->running()) return false;
    worker.process->send(SIGKILL);
    const std::optional<int> status = worker.process->wait(death_limit);
    worker.process.reset();
    worker.thaw.reset();
    return status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
}

bool Fleet::freeze(int slot, milliseconds lasts) {
    Worker& worker = workers_[slot];
    const pid_t process = worker.process->pid();
    worker.process->send(SIGSTOP);
    worker.thaw = Clock::now() + lasts;
    return support::eventually(1000ms, [&] { return stopped(process); });
}

bool Fleet::terminate(int slot, FaultKind counted_as, bool again) {
    Worker& worker = workers_[slot];
    if (!worker.process || worker.left_since) return false;
    if (worker.thaw) worker.process->send(SIGCONT);
    worker.process->send(SIGTERM);
    worker.thaw.reset();
    worker.left_since = Clock::now();
    worker.counted_as = counted_as;
    worker.again = again;
    return true;
}

void Fleet::look() {
    for (auto& [slot, worker] : workers_) look_at(slot, worker);
}

void Fleet::look_at(int slot, Worker& worker) {
    const auto now = Clock::now();
    if (!worker.process) {
        if (worker.start && *worker.start <= now) launch(slot, worker);
        return;
    }
    if (const std::optional<int> status = worker.process->wait(0ms)) {
        worker.process.reset();
        ended(slot, worker, *status);
        return;
    }
    if (worker.thaw && *worker.thaw <= now) {
        worker.process->send(SIGCONT);
        worker.thaw.reset();
    }
    if (worker.fault && worker.fault->kind == FaultKind::freeze_at_step &&
        stopped(worker.process->pid())) {
        tally_.count(FaultKind::freeze_at_step);
        worker.thaw = now + worker.fault->lasts;
        worker.fault.reset();
    }
    if (worker.left_since && now - *worker.left_since > leave_limit) {
        tally_.violation("a worker did not leave on SIGTERM, see " + log(slot).string());
        kill_now(slot);
        if (worker.again) start_later(slot, 0ms);
    }
}

// Before it has a handler SIGTERM just ends it.
bool Fleet::excused(const Worker& worker, int status) {
    return WIFEXITED(status) ? worker.without_server : WTERMSIG(status) == SIGTERM;
}

void Fleet::server_is_long_away() {
    for (auto& [slot, worker] : workers_) worker.without_server |= worker.left_since.has_value();
}

bool Fleet::died_at_its_step(const Worker& worker, int status) {
    return worker.fault && worker.fault->kind == FaultKind::kill_at_step && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
}

void Fleet::ended(int slot, Worker& worker, int status) {
    tally_.write("worker " + std::to_string(slot) + " ended, " + described(status));
    if (worker.left_since) {
        left(slot, worker, status);
        return;
    }
    if (died_at_its_step(worker, status)) {
        tally_.count(FaultKind::kill_at_step);
    } else {
        tally_.violation("a worker ended unasked with " + described(status) + ", see " +
                         log(slot).string());
    }
    worker.fault.reset();
    start_later(slot, 100ms);
}

void Fleet::left(int slot, Worker& worker, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        tally_.count(worker.counted_as);
    } else if (died_at_its_step(worker, status)) {
        tally_.count(FaultKind::kill_at_step);
    } else if (!excused(worker, status)) {
        tally_.violation("a worker left on SIGTERM with " + described(status) + ", see " +
                         log(slot).string());
    }
    worker.fault.reset();
    worker.left_since.reset();
    if (worker.again) start_later(slot, 0ms);
}

// Before it says so it has no handler for SIGTERM.
bool Fleet::runs(int slot, const Worker& worker) const {
    std::ifstream file(log(slot));
    file.seekg(static_cast<std::streamoff>(worker.logged));
    const std::string said{std::istreambuf_iterator<char>(file), {}};
    return said.find("onceward.started") != std::string::npos;
}

bool Fleet::settle(milliseconds limit) {
    for (auto& [slot, worker] : workers_) {
        const bool wanted = slot < plan_.fleet.processes;
        if (worker.process && worker.thaw) {
            worker.process->send(SIGCONT);
            worker.thaw.reset();
        }
        worker.next_fault.reset();
        // What waits for its step would die in the quiet.
        if (worker.process && (worker.fault || !wanted))
            terminate(slot, FaultKind::terminate, wanted);
        if (worker.left_since) worker.again = wanted;
        if (!worker.process && wanted) worker.start = Clock::now();
        if (!worker.process && !wanted) worker.start.reset();
    }
    return support::eventually(limit, [&] {
        look();
        for (const auto& [slot, worker] : workers_) {
            const bool healthy =
                worker.process && !worker.fault && !worker.left_since && runs(slot, worker);
            if (slot < plan_.fleet.processes ? !healthy : worker.process.has_value()) return false;
        }
        return true;
    });
}

void Fleet::stop(milliseconds limit) {
    for (auto& [slot, worker] : workers_) {
        if (worker.process) worker.process->send(SIGTERM);
    }
    const auto deadline = Clock::now() + limit;
    for (auto& [slot, worker] : workers_) {
        if (!worker.process) continue;
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
        const std::optional<int> status = worker.process->wait(std::max(left, milliseconds(1)));
        if (!status) {
            tally_.violation("a worker did not drain in the quiet, see " + log(slot).string());
            worker.process->send(SIGKILL);
        } else if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
            tally_.violation("a worker drained with " + described(*status) + ", see " +
                             log(slot).string());
        }
        worker.process.reset();
    }
}

}  // namespace onceward::campaign
