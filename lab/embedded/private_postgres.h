#pragma once
// A PostgreSQL server of our own: initdb in a temporary folder, a free port of 127.0.0.1, a random
// password, fsync on. It ends with the process (more exactly the thread) that started it, also if
// that one is killed; the destructor stops it and removes the folder. Any number of them run at the
// same time. As root it runs under `postgres` or `nobody`. Used by one thread at a time. Failures
// are std::runtime_errors with the tail of the server's log.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"

namespace onceward {

struct PrivatePostgresOptions {
    // Off only where losing data does not matter; on, commits cost what they cost users.
    bool fsync = true;
    // Lines for postgresql.conf, appended to ours, so that they win. Values are quoted here.
    std::vector<std::pair<std::string, std::string>> settings;
    // How long a start may take, recovery after a crash included.
    std::chrono::milliseconds start_limit{60'000};
    // Where its folder is made, which its user must be able to enter. Default: the system's folder
    // for temporary files.
    std::filesystem::path parent;
    // `NAME=value` entries put over the environment of the server.
    std::vector<std::string> environment = {};
    // Server and folder stay when the object and the process are gone, for people who want to look.
    bool keep = false;
};

class PrivatePostgres {
  public:
    enum class Stop : std::uint8_t {
        fast,       // ends sessions, writes a checkpoint
        immediate,  // as after a power cut: recovers at the next start
    };

    // Creates the cluster and starts it.
    explicit PrivatePostgres(PrivatePostgresOptions options = {});
    // A streaming standby of `primary`, started. `synchronous`: the primary's commits wait for it
    // from now on. Without pg_basebackup the primary is restarted, which ends its sessions.
    struct StandbyOptions {
        bool synchronous = false;
        // Where it finds the primary on 127.0.0.1. 0: at the primary's own port.
        std::uint16_t through_port = 0;
        std::vector<std::pair<std::string, std::string>> settings;
    };
    static PrivatePostgres standby_of(PrivatePostgres& primary, const StandbyOptions& options);
    ~PrivatePostgres();
    PrivatePostgres(PrivatePostgres&& other) noexcept;
    PrivatePostgres& operator=(PrivatePostgres&&) = delete;

    // libpq's connection string of the superuser, password included.
    std::string dsn() const { return dsn_for("postgres", password_); }
    std::string dsn_for(const std::string& user, const std::string& password) const;
    std::uint16_t port() const { return port_.number(); }
    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path log() const { return folder_ / "server.log"; }
    bool running();
    pid_t pid() const;

    void start();
    void stop(Stop how = Stop::fast);
    // SIGKILL to the postmaster and to every process of it, as a machine that loses its power.
    void kill_now();
    void restart(Stop how = Stop::fast);
    // From the next start on.
    void set_environment(std::vector<std::string> environment) {
        options_.environment = std::move(environment);
    }
    // Makes a standby the primary; returns when it takes writes.
    void promote();
    // Appends a line to postgresql.conf and has the server read it again; some settings need
    // restart().
    void set(const std::string& name, const std::string& value);

  private:
    struct Empty {};
    PrivatePostgres(Empty, PrivatePostgresOptions options);
    std::filesystem::path data() const { return folder_ / "data"; }
    void make_folder();
    void initialise();
    void write_settings(const std::vector<std::pair<std::string, std::string>>& settings);
    void run(std::vector<std::string> command);
    void copy_stopped(PrivatePostgres& primary, const std::string& source);
    bool ready();

    PrivatePostgresOptions options_;
    std::filesystem::path folder_;
    std::string password_;
    ReservedPort port_;
    std::optional<ChildOptions::Identity> identity_;
    std::optional<ChildProcess> server_;
};

}  // namespace onceward
