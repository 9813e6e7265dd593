#pragma once
// A child process started without a shell, that does not outlive the process that started it. Used
// by one thread at a time; owns the process: the destructor kills it with SIGKILL and reaps it.
// Failures to start are std::runtime_errors that name the program.

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace onceward {

struct ChildOptions {
    // The program and its arguments. A name without a slash is looked up in PATH.
    std::vector<std::string> command;
    // `NAME=value` entries put over the inherited environment.
    std::vector<std::string> environment;
    // Where stdout and stderr are appended to. Default: those of this process.
    std::optional<std::filesystem::path> output;
    // Default: the folder of this process.
    std::optional<std::filesystem::path> folder;
    // Run under another user; only root can ask for it. Default: the user of this process.
    struct Identity {
        uid_t user;
        gid_t group;
    };
    std::optional<Identity> identity;
    // Sent by the kernel to the child when the THREAD that started it ends, so start children from
    // one that lives as long as they shall. 0: the child outlives us.
    int parent_death_signal = SIGKILL;
};

class ChildProcess {
  public:
    explicit ChildProcess(const ChildOptions& options);
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&& other) noexcept;

    pid_t pid() const { return pid_; }
    // Whether it has not ended yet, or not been reaped by wait().
    bool running();
    // Sends a signal; nothing happens where the child was reaped already.
    void send(int signal);
    // The status as waitpid(2) gives it, or nothing where it still runs after `limit`.
    std::optional<int> wait(std::chrono::milliseconds limit);
    // Lets it go: the destructor leaves it alone.
    void release() { pid_ = -1; }

  private:
    void finish() noexcept;
    pid_t pid_ = -1;
    std::optional<int> status_;
};

// Runs a program to its end. Throws where it fails or is not done in time; the error quotes the
// tail of its output.
void run_to_end(ChildOptions options, std::chrono::milliseconds limit);

// Waits until a process, which need not be a child, is gone. False where it is still there after
// `limit`.
bool wait_until_gone(pid_t process, std::chrono::milliseconds limit);

// The processes whose parent is `process`, according to /proc.
std::vector<pid_t> children_of(pid_t process);

// The last bytes of a log, for error messages.
std::string tail_of(const std::filesystem::path& file, std::size_t bytes = 2000);

}  // namespace onceward
