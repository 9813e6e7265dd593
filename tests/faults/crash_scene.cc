#include "tests/faults/crash_scene.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/faults/checker/produced_list.h"
#include "tests/faults/checker/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

std::filesystem::path new_folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "onceward-crash-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like " + pattern);
    return pattern;
}

std::int64_t number(const std::optional<std::string>& text) { return std::stoll(text.value()); }

}  // namespace

CrashScene::CrashScene(std::uint64_t seed, SceneOptions options)
    : options_(std::move(options)),
      folder_(new_folder()),
      topic_(support::unique_name("payments")),
      group_(support::unique_name("group")),
      random_(seed) {
    if (options_.create_topic) support::kafka().create_topic(topic_, partitions);
    // No unique constraint: what is applied twice must be there twice.
    schema_.user_table("payments",
                       "key text NOT NULL, id bigint NOT NULL, account text NOT NULL,"
                       "kafka_partition int NOT NULL, kafka_offset bigint NOT NULL,"
                       "landed bigint GENERATED ALWAYS AS IDENTITY");
    checker::install_audit(schema_.server().dsn, schema_.name());
    write_configuration();
}

CrashScene::~CrashScene() {
    // Logs of a failed test are kept, to be read.
    if (::testing::Test::HasFailure()) {
        std::cout << "the workers' logs are in " << folder_ << "\n";
        return;
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void CrashScene::write_configuration() {
    std::ofstream file(folder_ / "onceward.yaml");
    // The time-outs are short, so that what a dead worker held is free within two seconds.
    std::map<std::string, std::string> properties{{"session.timeout.ms", "1000"},
                                                  {"heartbeat.interval.ms", "100"},
                                                  {"max.poll.interval.ms", "2000"},
                                                  {"reconnect.backoff.max.ms", "200"},
                                                  {"fetch.wait.max.ms", "20"}};
    for (const auto& [name, value] : options_.kafka_properties) properties[name] = value;
    const std::string bootstrap_servers = options_.bootstrap_servers.empty()
                                              ? support::kafka_bootstrap_servers()
                                              : options_.bootstrap_servers;
    const std::string dsn = schema_.server().worker_dsn + options_.dsn_more;
    file << "group: " << group_ << "\nkafka:\n  bootstrap_servers: " << bootstrap_servers << "\n"
         << options_.kafka_more << "  properties:\n";
    for (const auto& [name, value] : properties) file << "    " << name << ": " << value << "\n";
    file << "postgres:\n  dsn: \"" << dsn << "\"\n  schema: " << schema_.name() << "\n"
         << "  lock_timeout: " << options_.lock_timeout << "\n"
         << "  idle_in_transaction_timeout: 1500ms\n  client_check_interval: 500ms\n"
         << "drain_timeout: " << options_.drain_timeout << "\nbatch:\n  messages: 500\n"
         << "admin: {listen: off}\n"
         << options_.more << "topics:\n  - name: " << topic_ << "\n    format: json\n"
         << "    key: {preset: idempotency-key}\n    start: earliest\n"
         << options_.topic_more << "    sink:\n      table: " << schema_.name()
         << ".payments\n      columns:\n"
         << "        key: {header: Idempotency-Key}\n        id: /id\n        account: /account\n"
         << "        kafka_partition: {metadata: partition}\n"
         << "        kafka_offset: {metadata: offset}\n";
    file.flush();
    if (!file) throw std::runtime_error("cannot write the workers' configuration");
}

void CrashScene::send(int messages) {
    std::vector<support::ProducedMessage> batch;
    std::vector<checker::ProducedMessage> sent;
    std::vector<std::int64_t> ends = ends_;
    for (int index = 0; index < messages; ++index) {
        const bool repeated = !keys_.empty() && random_() % 4 == 0;
        if (!repeated) keys_.push_back("key-" + std::to_string(keys_.size()));
        // Half of the repeated keys are recent ones, which may still be in flight elsewhere.
        const std::size_t reach =
            random_() % 2 == 0 ? std::min<std::size_t>(keys_.size(), 100) : keys_.size();
        const std::string key =
            repeated ? keys_[keys_.size() - 1 - random_() % reach] : keys_.back();
        const int partition = static_cast<int>(random_() % partitions);
        const std::string id = std::to_string(sent_.size() + sent.size());
        sent.push_back({.id = sent_.size() + sent.size(),
                        .place = {0, partition, ends[static_cast<std::size_t>(partition)]++},
                        .key_kind = "header:Idempotency-Key",
                        .key = key});
        batch.push_back({partition,
                         std::nullopt,
                         R"({"id": )" + id + R"(, "account": "account-)" + id + R"("})",
                         {{"Idempotency-Key", key}, {"message-id", id}},
                         0});
    }
    support::kafka().produce(topic_, batch);
    ends_ = ends;
    sent_.insert(sent_.end(), sent.begin(), sent.end());
}

ChildProcess CrashScene::start_worker(const std::optional<std::string>& fault,
                                      std::vector<std::string> environment) {
    const std::string configuration = (folder_ / "onceward.yaml").string();
    ChildOptions options;
    options.output = folder_ / ("worker-" + std::to_string(++workers_started_) + ".log");
    options.environment = std::move(environment);
    if (fault) {
        options.command = {ONCEWARD_FAULTY_EXECUTABLE, configuration};
        options.environment.push_back(*fault);
    } else {
        options.command = {ONCEWARD_EXECUTABLE, "run", "--config", configuration};
    }
    ChildProcess worker(options);
    logs_[worker.pid()] = *options.output;
    return worker;
}

void CrashScene::stop_worker(ChildProcess& worker) {
    // Before its first lines it has no handler yet, and the signal would just end it.
    EXPECT_TRUE(support::eventually(std::chrono::seconds(30), [&] {
        return tail_of(logs_.at(worker.pid()), 1'000'000).find("onceward.started") !=
               std::string::npos;
    })) << "a worker did not start";
    worker.send(SIGTERM);
    const std::optional<int> status = worker.wait(std::chrono::seconds(30));
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
        << "a worker did not drain: status " << status.value_or(-1) << "\n"
        << last_log();
}

std::filesystem::path CrashScene::last_log_file() const {
    return folder_ / ("worker-" + std::to_string(workers_started_) + ".log");
}

std::string CrashScene::last_log() const { return tail_of(last_log_file()); }

bool CrashScene::logged(const std::string& text, std::chrono::milliseconds limit) const {
    return support::eventually(
        limit, [&] { return tail_of(last_log_file(), 1'000'000).find(text) != std::string::npos; });
}

bool CrashScene::logged_by_any(const std::string& text) const {
    return std::ranges::any_of(logs_, [&](const auto& log) {
        return tail_of(log.second, 1'000'000).find(text) != std::string::npos;
    });
}

bool CrashScene::drained(std::chrono::milliseconds limit) {
    return support::eventually(limit, [&] {
        std::int64_t passed = 0;
        for (const support::Row& row :
             schema_.database().execute("SELECT sum(next_offset) FROM fences"))
            passed = row[0] ? number(row[0]) : 0;
        return passed == static_cast<std::int64_t>(sent_.size());
    });
}

std::filesystem::path CrashScene::write_checker_scene() {
    const std::vector<checker::TopicSettings> topics{{.name = topic_}};
    std::ofstream list(folder_ / "produced.ndjson");
    for (const checker::ProducedMessage& message : sent_)
        list << checker::produced_line(message, topics) << "\n";
    const nlohmann::json scene{
        {"postgres",
         {{"dsn", schema_.server().dsn},
          {"schema", schema_.name()},
          {"sinks",
           {{{"topic", topic_},
             {"table", schema_.name() + ".payments"},
             {"id", "id"},
             {"key", "key"}}}}}},
        {"kafka", {{"bootstrap_servers", support::kafka_bootstrap_servers()}}},
        {"group", group_},
        {"produced", "produced.ndjson"},
        {"topics", {{{"name", topic_}}}},
        {"sample", {{"every_ms", 50}}}};
    std::ofstream file(folder_ / "scene.json");
    file << scene.dump(2) << "\n";
    file.flush();
    list.flush();
    if (!file || !list) throw std::runtime_error("cannot write the checker's scene");
    return folder_ / "scene.json";
}

checker::Verdict CrashScene::verdict() {
    return checker::judge(checker::gather(checker::read_scene(write_checker_scene())));
}

std::vector<std::string> complaints(const checker::Verdict& verdict) {
    std::vector<std::string> lines = verdict.problems;
    for (const checker::Violation& violation : verdict.violations) {
        lines.push_back(violation.invariant + ": " + violation.text + " (" +
                        std::to_string(violation.count) + "), at " + violation.where.at(0));
    }
    return lines;
}

}  // namespace onceward::faults
