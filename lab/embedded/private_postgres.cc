#include "lab/embedded/private_postgres.h"

#include <openssl/rand.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "dedup/message/digest.h"
#include "lab/embedded/postgres_programs.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds tool_limit{120'000};
constexpr milliseconds stop_limit{60'000};
constexpr int start_attempts = 5;
constexpr milliseconds start_pause{200};

std::string random_password() {
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) throw std::runtime_error("no random bytes");
    return hex(std::string_view(reinterpret_cast<const char*>(bytes), sizeof bytes));
}

// PostgreSQL refuses to run as root.
std::optional<ChildOptions::Identity> unprivileged() {
    if (geteuid() != 0) return std::nullopt;
    for (const char* name : {"postgres", "nobody"}) {
        if (const passwd* entry = getpwnam(name))
            return ChildOptions::Identity{entry->pw_uid, entry->pw_gid};
    }
    throw std::runtime_error(
        "PostgreSQL does not run as root, and there is no user `postgres` or `nobody` here to run "
        "it as: install PostgreSQL's package, or run this as another user");
}

void append(const std::filesystem::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::app);
    stream << text;
    stream.flush();
    if (!stream) throw std::runtime_error("cannot write " + file.string());
}

std::string setting_line(const std::string& name, const std::string& value) {
    std::string quoted;
    for (const char character : value) {
        if (character == '\'' || character == '\\') quoted += character;
        quoted += character;
    }
    return name + " = '" + quoted + "'\n";
}

}  // namespace

PrivatePostgres::PrivatePostgres(Empty, PrivatePostgresOptions options)
    : options_(std::move(options)), identity_(unprivileged()) {
    make_folder();
}

PrivatePostgres::PrivatePostgres(PrivatePostgresOptions options)
    : PrivatePostgres(Empty{}, std::move(options)) {
    password_ = random_password();
    initialise();
    start();
}

PrivatePostgres PrivatePostgres::standby_of(PrivatePostgres& primary,
                                            const StandbyOptions& options) {
    PrivatePostgresOptions inherited = primary.options_;
    inherited.settings = options.settings;
    PrivatePostgres standby(Empty{}, inherited);
    standby.password_ = primary.password_;
    std::string source = primary.dsn() + " application_name=standby";
    if (options.through_port != 0) source += " port=" + std::to_string(options.through_port);
    if (has_postgres_program("pg_basebackup")) {
        standby.run({postgres_program("pg_basebackup"), "--pgdata=" + standby.data().string(),
                     "--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream",
                     "--no-sync", "--dbname=" + source});
    } else {
        standby.copy_stopped(primary, source);
    }
    standby.write_settings({});
    if (options.synchronous) primary.set("synchronous_standby_names", "standby");
    standby.start();
    return standby;
}

void PrivatePostgres::copy_stopped(PrivatePostgres& primary, const std::string& source) {
    primary.stop();
    run({"/bin/cp", "--archive", primary.data().string(), data().string()});
    primary.start();
    append(data() / "postgresql.auto.conf", setting_line("primary_conninfo", source));
    append(data() / "standby.signal", "");
}

PrivatePostgres::~PrivatePostgres() {
    if (folder_.empty()) return;  // moved from
    if (options_.keep) {
        if (server_) server_->release();
        return;
    }
    try {
        stop(Stop::immediate);
    } catch (const std::exception&) {
        // The server's ChildProcess kills it.
    }
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

PrivatePostgres::PrivatePostgres(PrivatePostgres&& other) noexcept
    : options_(std::move(other.options_)),
      folder_(std::exchange(other.folder_, {})),
      password_(std::move(other.password_)),
      port_(std::move(other.port_)),
      identity_(other.identity_),
      server_(std::move(other.server_)) {}

std::string PrivatePostgres::dsn_for(const std::string& user, const std::string& password) const {
    return "host=127.0.0.1 port=" + std::to_string(port()) + " user=" + user +
           " password=" + password + " dbname=postgres sslmode=disable";
}

void PrivatePostgres::make_folder() {
    const std::filesystem::path parent =
        options_.parent.empty() ? std::filesystem::temp_directory_path() : options_.parent;
    std::string pattern = (parent / "onceward-postgres-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like " + pattern);
    folder_ = pattern;
    if (identity_ && chown(folder_.c_str(), identity_->user, identity_->group) != 0)
        throw std::runtime_error("cannot give " + pattern + " to PostgreSQL's user");
}

void PrivatePostgres::run(std::vector<std::string> command) {
    ChildOptions options;
    options.command = std::move(command);
    options.environment = {"LC_ALL=C"};
    options.folder = folder_;
    options.output = folder_ / "tools.log";
    options.identity = identity_;
    run_to_end(std::move(options), tool_limit);
}

void PrivatePostgres::initialise() {
    const std::filesystem::path password_file = folder_ / "password";
    append(password_file, password_ + "\n");
    // Any user of this machine may reach the port: hence a password, and none of the superuser's
    // `trust`.
    run({postgres_program("initdb"), "--pgdata=" + data().string(), "--username=postgres",
         "--auth=scram-sha-256", "--pwfile=" + password_file.string(), "--encoding=UTF8",
         "--locale=C", "--no-sync", "--no-instructions"});
    std::filesystem::remove(password_file);
    write_settings(options_.settings);
}

void PrivatePostgres::write_settings(
    const std::vector<std::pair<std::string, std::string>>& settings) {
    std::string text = "\n";
    text += setting_line("listen_addresses", "127.0.0.1");
    text += setting_line("unix_socket_directories", "");
    text += setting_line("fsync", options_.fsync ? "on" : "off");
    text += setting_line("max_connections", "200");
    text += setting_line("wal_keep_size", "256MB");
    text += setting_line("log_line_prefix", "%m [%p] %a ");
    for (const auto& [name, value] : settings) text += setting_line(name, value);
    append(data() / "postgresql.conf", text);
}

void PrivatePostgres::start() {
    if (running()) return;
    for (int attempt = 1;; ++attempt) {
        ChildOptions options;
        options.command = {postgres_program("postgres"), "-D", data().string(), "-p",
                           std::to_string(port())};
        options.folder = folder_;
        options.output = log();
        options.identity = identity_;
        options.environment = options_.environment;
        // SIGQUIT is PostgreSQL's immediate stop: it takes its children along.
        options.parent_death_signal = options_.keep ? 0 : SIGQUIT;
        server_.emplace(options);
        const auto deadline = std::chrono::steady_clock::now() + options_.start_limit;
        bool ended = false;
        while (!ready() && !ended && std::chrono::steady_clock::now() < deadline)
            ended = server_->wait(milliseconds(10)).has_value();
        if (ready()) return;
        const std::string tail = tail_of(log());
        server_.reset();
        if (attempt == start_attempts)
            throw std::runtime_error("the private PostgreSQL did not start: " + tail);
        // What was killed has not released its memory yet: try once more.
        std::this_thread::sleep_for(attempt * start_pause);
    }
}

bool PrivatePostgres::ready() {
    std::ifstream file(data() / "postmaster.pid");
    std::vector<std::string> lines;
    for (std::string line; lines.size() < 8 && std::getline(file, line);) lines.push_back(line);
    return lines.size() == 8 && lines[0] == std::to_string(server_->pid()) &&
           lines[7].starts_with("ready");
}

bool PrivatePostgres::running() { return server_ && server_->running(); }

pid_t PrivatePostgres::pid() const { return server_ ? server_->pid() : -1; }

void PrivatePostgres::stop(Stop how) {
    if (!running()) return;
    server_->send(SIGCONT);
    server_->send(how == Stop::fast ? SIGINT : SIGQUIT);
    if (!server_->wait(stop_limit))
        throw std::runtime_error("the private PostgreSQL does not stop: " + tail_of(log()));
}

void PrivatePostgres::kill_now() {
    if (!running()) return;
    // It must neither start again what it loses nor a child that this list lacks: such a one would
    // hold on to the shared memory.
    server_->send(SIGSTOP);
    siginfo_t stopped{};
    waitid(P_PID, static_cast<id_t>(server_->pid()), &stopped, WSTOPPED | WEXITED | WNOWAIT);
    const std::vector<pid_t> children = children_of(server_->pid());
    server_->send(SIGKILL);
    for (const pid_t child : children) kill(child, SIGKILL);
    server_->wait(stop_limit);
    for (const pid_t child : children) wait_until_gone(child, stop_limit);
}

void PrivatePostgres::restart(Stop how) {
    stop(how);
    start();
}

void PrivatePostgres::promote() {
    run({postgres_program("pg_ctl"), "promote", "--wait", "--pgdata=" + data().string()});
}

void PrivatePostgres::set(const std::string& name, const std::string& value) {
    append(data() / "postgresql.conf", setting_line(name, value));
    if (running()) server_->send(SIGHUP);
}

}  // namespace onceward
