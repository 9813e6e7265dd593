#include "lab/soak/scene.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "lab/bench/consumption.h"
#include "lab/embedded/product_program.h"
#include "lab/kafka/topic_admin.h"
#include "lab/queries.h"
#include "lab/soak_files.h"

namespace onceward::soak {
namespace {

using namespace std::chrono_literals;

// Repeats come within two minutes, so that a ledger of ten knows them even if a worker is late.
constexpr double repeats_within_seconds = 120;
// The topic is bounded by size: a backlog of seven minutes at 45,000 messages/s.
constexpr const char* bytes_of_a_partition = "2000000000";
constexpr const char* bytes_of_a_segment = "67108864";

PrivatePostgresOptions server() {
    PrivatePostgresOptions options;
    options.settings = {{"shared_buffers", "512MB"}, {"max_wal_size", "2GB"}};
    return options;
}

std::string replaced(std::string text, std::string_view name, const std::string& value) {
    text.replace(text.find(name), name.size(), value);
    return text;
}

}  // namespace

Scene::Scene(const Options& options)
    : postgres_(server()),
      messages_(std::max<std::int64_t>(
          static_cast<std::int64_t>(options.rate * repeats_within_seconds), 1'000)) {
    create_topic(
        options.bootstrap_servers, topic, partitions,
        {{"retention.bytes", bytes_of_a_partition}, {"segment.bytes", bytes_of_a_segment}});
    ConnectionOptions session;
    session.dsn = postgres_.dsn();
    session.application_name = "onceward-soak";
    connection_.emplace(session);
    sink_.emplace(*connection_, messages_);
    std::string text =
        replaced(std::string(soak_files::soak), "@KAFKA@", options.bootstrap_servers);
    text = replaced(text, "@DSN@", postgres_.dsn());
    text = replaced(text, "@ADMIN@", "127.0.0.1:" + std::to_string(admin_.number()));
    text = replaced(text, "@RETENTION@", std::to_string(options.retention.count()) + "m");
    const std::chrono::seconds rotation = std::chrono::seconds(options.retention) / 8;
    text = replaced(text, "@ROTATION@", std::to_string(rotation.count()) + "s");
    std::ofstream(folder_.path() / "onceward.yaml") << text;
    ChildOptions migrate = command(options, "migrate");
    migrate.command.insert(migrate.command.begin() + 2, "up");
    run_to_end(migrate, 60s);
    worker_.emplace(command(options, "run"));
    bench::wait_until(
        [this] {
            expect_running();
            return connection_->query(lab_sql::soak_fences, {}).integer(0, 0) == partitions;
        },
        "for the worker's fences");
}

ChildOptions Scene::command(const Options& options, const char* verb) const {
    ChildOptions child;
    child.command = {product_program().string(), verb, "-c",
                     (folder_.path() / "onceward.yaml").string()};
    child.output = options.csv.parent_path() / "worker.log";
    return child;
}

Probe Scene::probe(const Options& options) {
    return {
        *connection_,
        {worker_->pid(), postgres_.pid(), {"127.0.0.1", admin_.number()}, options.broker_folder}};
}

void Scene::expect_running() {
    if (!worker_->running()) throw std::runtime_error("the worker ended: see worker.log");
}

void Scene::stop_worker() {
    worker_->send(SIGTERM);
    const auto status = worker_->wait(60s);
    if (!status || *status != 0) throw std::runtime_error("the worker did not drain");
}

}  // namespace onceward::soak
