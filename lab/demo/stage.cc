#include "lab/demo/stage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "lab/demo/workload.h"
#include "lab/demo_files.h"
#include "lab/queries.h"

namespace onceward::demo {
namespace {

constexpr std::chrono::milliseconds migration_limit{60'000};
constexpr std::chrono::milliseconds heartbeat_interval{150};

void write(const std::filesystem::path& file, std::string_view text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    stream.flush();
    if (!stream) throw std::runtime_error("cannot write " + file.string());
}

void replace(std::string& text, std::string_view name, const std::string& value) {
    const std::size_t at = text.find(name);
    if (at == std::string::npos) throw std::logic_error("the demo's template lacks a name");
    text.replace(at, name.size(), value);
}

PrivatePostgresOptions postgres_in(const std::filesystem::path& folder) {
    PrivatePostgresOptions options;
    options.parent = folder;
    return options;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "onceward-demo-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like " + pattern);
    path_ = pattern;
    // PostgreSQL under its own user must be able to reach its folder; nobody can list this one.
    if (geteuid() == 0) chmod(path_.c_str(), 0711);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

Stage::Stage(const std::filesystem::path& program)
    : cluster_({.heartbeat_interval = heartbeat_interval, .session_timeout = session_timeout}),
      postgres_(postgres_in(folder_.path())) {
    for (const Topic topic : topics) cluster_.create_topic(name_of(topic), partitions_per_topic);
    write_files();
    ChildOptions migrate;
    migrate.command = {program.string(), "migrate", "up", "-c", configuration().string()};
    migrate.output = folder() / "migrate.log";
    run_to_end(migrate, migration_limit);
    Connection(connection()).execute(lab_sql::demo_tables);
}

void Stage::write_files() const {
    std::string text(demo_files::demo);
    replace(text, "@KAFKA@", bootstrap_servers());
    replace(text, "@DSN@", dsn());
    // It holds the database's password: for the owner only.
    const mode_t previous = umask(0077);
    write(configuration(), text);
    write(proto_file(), demo_files::payment);
    umask(previous);
}

ConnectionOptions Stage::connection() const {
    ConnectionOptions options;
    options.dsn = dsn();
    options.application_name = "onceward demo";
    return options;
}

}  // namespace onceward::demo
