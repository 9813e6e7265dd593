#include "lab/embedded/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace onceward {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& additions) {
    const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        bool replaced = false;
        for (const std::string& addition : additions)
            replaced = replaced || name_of(addition) == name_of(*entry);
        if (!replaced) result.emplace_back(*entry);
    }
    result.insert(result.end(), additions.begin(), additions.end());
    return result;
}

struct Prepared {
    std::vector<char*> command;
    std::vector<char*> environment;
    const char* output;
    const char* folder;
    pid_t parent;
    int report;  // the write end of a pipe that exec closes; an errno in it says that exec failed
};

// Runs between fork and exec, where another thread may have held any lock: only system calls here.
[[noreturn]] void become(const ChildOptions& options, const Prepared& prepared) {
    const auto give_up = [&] {
        const int code = errno;
        [[maybe_unused]] const auto written = write(prepared.report, &code, sizeof code);
        _exit(127);
    };
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int ignored : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) signal(ignored, SIG_DFL);
    const int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    if (prepared.output != nullptr) {
        const int file = open(prepared.output, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (file < 0) give_up();
        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
    }
    if (prepared.folder != nullptr && chdir(prepared.folder) != 0) give_up();
    if (options.identity) {
        if (setgroups(0, nullptr) != 0 || setgid(options.identity->group) != 0 ||
            setuid(options.identity->user) != 0)
            give_up();
    }
    // After setuid, which clears it.
    if (options.parent_death_signal != 0) {
        prctl(PR_SET_PDEATHSIG, options.parent_death_signal);
        if (getppid() != prepared.parent) _exit(127);  // the parent died in between
    }
    // Sockets of libraries that forgot CLOEXEC would stay open in the child; 4 is
    // CLOSE_RANGE_CLOEXEC.
    syscall(SYS_close_range, 3U, ~0U, 4U);
    execvpe(prepared.command[0], prepared.command.data(), prepared.environment.data());
    give_up();
    _exit(127);
}

int process_descriptor(pid_t process) {
    return static_cast<int>(syscall(SYS_pidfd_open, process, 0U));
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options) {
    const std::vector<std::string> environment = merged_environment(options.environment);
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    const Prepared prepared{pointers(options.command),
                            pointers(environment),
                            options.output ? options.output->c_str() : nullptr,
                            options.folder ? options.folder->c_str() : nullptr,
                            getpid(),
                            report[1]};
    pid_ = fork();
    if (pid_ == 0) become(options, prepared);
    const int fork_error = errno;
    close(report[1]);
    int code = 0;
    const bool failed = pid_ > 0 && read(report[0], &code, sizeof code) == sizeof code;
    close(report[0]);
    if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
    if (failed) {
        waitpid(pid_, nullptr, 0);
        throw std::runtime_error("cannot start " + options.command[0] + ": " +
                                 std::generic_category().message(code));
    }
}

ChildProcess::~ChildProcess() { finish(); }

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
    if (this != &other) {
        finish();
        pid_ = std::exchange(other.pid_, -1);
        status_ = other.status_;
    }
    return *this;
}

void ChildProcess::finish() noexcept {
    if (pid_ < 0 || status_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

bool ChildProcess::running() { return !wait(std::chrono::milliseconds(0)); }

void ChildProcess::send(int signal) {
    if (pid_ > 0 && !status_) kill(pid_, signal);
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds limit) {
    if (status_ || pid_ < 0) return status_;
    if (limit.count() > 0) wait_until_gone(pid_, limit);
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_;
}

bool wait_until_gone(pid_t process, std::chrono::milliseconds limit) {
    const int descriptor = process_descriptor(process);
    if (descriptor < 0) return errno == ESRCH;
    pollfd entry{descriptor, POLLIN, 0};
    const int ready = poll(&entry, 1, static_cast<int>(limit.count()));
    close(descriptor);
    return ready > 0;
}

void run_to_end(ChildOptions options, std::chrono::milliseconds limit) {
    ChildProcess child(options);
    const std::optional<int> status = child.wait(limit);
    if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return;
    std::string message = options.command[0];
    if (!status) {
        message += " was not done after " + std::to_string(limit.count()) + " ms";
    } else if (WIFSIGNALED(*status)) {
        message += " was ended by signal " + std::to_string(WTERMSIG(*status));
    } else {
        message += " failed with status " + std::to_string(WEXITSTATUS(*status));
    }
    if (options.output) message += ": " + tail_of(*options.output);
    throw std::runtime_error(message);
}

std::vector<pid_t> children_of(pid_t process) {
    std::vector<pid_t> children;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const pid_t candidate = std::atoi(entry.path().filename().c_str());
        if (candidate <= 0) continue;
        std::ifstream stream(entry.path() / "stat");
        std::string text;
        std::getline(stream, text);
        // `pid (name) state parent ...`, where the name may hold blanks and brackets.
        const std::size_t end = text.rfind(") ");
        if (end == std::string::npos || text.size() < end + 5) continue;
        if (std::atoi(text.c_str() + end + 4) == process) children.push_back(candidate);
    }
    return children;
}

std::string tail_of(const std::filesystem::path& file, std::size_t bytes) {
    std::ifstream stream(file, std::ios::binary | std::ios::ate);
    if (!stream) return "(no output)";
    const auto size = static_cast<std::size_t>(stream.tellg());
    const std::size_t length = size < bytes ? size : bytes;
    stream.seekg(static_cast<std::streamoff>(size - length));
    std::string text(length, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(length));
    return text;
}

}  // namespace onceward
