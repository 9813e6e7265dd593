#include "tests/integration/kafka/scene.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "sinks/dead_letters/dead_letter_sink.h"
#include "sinks/table/table_sink.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

constexpr const char* effect_columns =
    "key text NOT NULL, id bigint, kafka_partition int NOT NULL, kafka_offset bigint NOT NULL, "
    "landed bigint GENERATED ALWAYS AS IDENTITY";

}  // namespace

Scene::Scene(SceneOptions options)
    : options_(std::move(options)),
      schema_(options_.postgres.dsn.empty() ? support::FreshSchema()
                                            : support::FreshSchema(options_.postgres)),
      kafka_(options_.kafka == nullptr ? support::kafka() : *options_.kafka),
      bootstrap_servers_(options_.bootstrap_servers.empty() ? support::kafka_bootstrap_servers()
                                                            : options_.bootstrap_servers),
      topic_(support::unique_name("topic")),
      group_(support::unique_name("group")),
      partitions_(options_.partitions) {
    kafka_.create_topic(topic_, partitions_, options_.topic_config);
    add_table("effects");
}

Scene::~Scene() { stop_all(); }

void Scene::reconnect() {
    session_.emplace(schema_.server().dsn);
    session_->execute("SET search_path = " + schema_.name());
}

// No unique constraint: what is applied twice must be there twice.
std::string Scene::add_table(const std::string& table) {
    return schema_.user_table(table, effect_columns);
}

WorkerTopic Scene::worker_topic(const std::string& topic, const std::string& table) {
    using From = FieldSource::Kind;
    TableSinkOptions sink;
    sink.table = schema_.name() + "." + table;
    sink.columns = {{"key", {From::header, "Idempotency-Key"}},
                    {"id", {From::field, "/id"}},
                    {"kafka_partition", {From::metadata, "partition"}},
                    {"kafka_offset", {From::metadata, "offset"}}};
    WorkerTopic options;
    options.name = topic;
    options.format.tombstones = TombstonePolicy::skip;
    options.key.sources = *key_preset("idempotency-key");
    options.ledger.name = group_ + "/" + topic;
    options.start.kind = StartPosition::Kind::committed;
    options.sink = [sink] { return std::make_unique<TableSink>(sink); };
    return options;
}

WorkerOptions Scene::options() {
    WorkerOptions options;
    options.number = next_worker_++;
    options.kafka.bootstrap_servers = bootstrap_servers_;
    options.kafka.group = group_;
    options.kafka.properties = {{"session.timeout.ms", "2000"},
                                {"heartbeat.interval.ms", "150"},
                                {"max.poll.interval.ms", "3000"},
                                {"reconnect.backoff.max.ms", "200"},
                                {"topic.metadata.refresh.interval.ms", "500"},
                                {"fetch.wait.max.ms", "20"}};
    options.postgres = schema_.worker();
    options.batch.messages = 200;
    options.drain_timeout = 2s;
    options.dead_letters = [] { return std::make_unique<DeadLetterSink>(); };
    options.first_retry = 500ms;
    options.watermark_every = 200ms;
    options.topics = {worker_topic(topic_)};
    return options;
}

std::string Scene::add_other_topic(WorkerOptions& options) {
    const std::string other = topic_ + "_other";
    kafka_.create_topic(other, 1);
    add_table("others");
    options.topics.push_back(worker_topic(other, "others"));
    return other;
}

Worker& Scene::start(WorkerOptions options) {
    workers_.push_back(std::make_unique<Worker>(std::move(options)));
    workers_.back()->start();
    return *workers_.back();
}

void Scene::stop(Worker& worker) {
    std::erase_if(workers_, [&](const auto& mine) { return mine.get() == &worker; });
}

void Scene::stop_all() { workers_.clear(); }

std::vector<support::ProducedMessage> Scene::make(int messages, int partition) {
    std::vector<support::ProducedMessage> made;
    for (int i = 0; i < messages; ++i) {
        const std::string number = std::to_string(next_key_++);
        made.push_back({partition,
                        std::nullopt,
                        "{\"id\": " + number + "}",
                        {{"Idempotency-Key", "key-" + number}},
                        0});
    }
    return made;
}

void Scene::count(const std::vector<support::ProducedMessage>& messages) {
    for (const support::ProducedMessage& message : messages) ++sent_[*message.headers[0].second];
}

void Scene::send(int messages, int first_partition) {
    std::vector<support::ProducedMessage> made = make(messages, 0);
    for (std::size_t i = 0; i < made.size(); ++i) {
        made[i].partition = first_partition + static_cast<int>(i) % (partitions_ - first_partition);
    }
    kafka_.produce(topic_, made);
    count(made);
}

bool Scene::all_applied(milliseconds limit) {
    return eventually(limit, [&] { return applied() >= static_cast<std::int64_t>(sent_.size()); });
}

std::string Scene::fence(int partition, const std::string& columns) {
    const support::Rows rows =
        database().execute("SELECT concat_ws(' ', " + columns + ") FROM fences WHERE topic = '" +
                           topic_ + "' AND partition = " + std::to_string(partition));
    return rows.empty() ? "-1" : *rows[0][0];
}

std::string Scene::halted(Worker& worker, milliseconds limit) {
    std::string reason;
    eventually(limit, [&] {
        const Worker::Status status = worker.status();
        if (!status.halted.empty()) reason = status.halted.front().halt.text;
        return !reason.empty();
    });
    return reason;
}

void Scene::expect_exact() {
    std::map<std::string, int> found;
    std::map<int, std::int64_t> last;
    for (const support::Row& row : database().execute(
             "SELECT key, kafka_partition, kafka_offset FROM effects ORDER BY landed")) {
        if (++found[*row[0]] == 2) ADD_FAILURE() << *row[0] << " was applied twice";
        if (!sent_.contains(*row[0])) ADD_FAILURE() << *row[0] << " was never sent";
        std::int64_t& before = last.try_emplace(std::stoi(*row[1]), -1).first->second;
        EXPECT_LT(before, std::stoll(*row[2])) << "partition " << *row[1] << " is out of order";
        before = std::stoll(*row[2]);
    }
    std::size_t missing = 0;
    for (const auto& [key, times] : sent_) missing += found.contains(key) ? 0 : 1;
    EXPECT_EQ(missing, 0U) << "of " << sent_.size() << " are missing";
    EXPECT_EQ(database().number("SELECT sum(applied) FROM fences"), applied());
}

void Scene::expect_all_once() {
    all_applied();
    expect_exact();
}

CapturedLog::CapturedLog() : file_(testing::TempDir() + support::unique_name("log")) {
    const int file = open(file_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    before_ = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

CapturedLog::~CapturedLog() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    std::cerr << text();
    std::filesystem::remove(file_);
}

std::string CapturedLog::text() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool CapturedLog::says(const std::string& part, milliseconds limit) const {
    return eventually(limit, [&] { return text().find(part) != std::string::npos; });
}

int times_in(const std::string& text, const std::string& part) {
    int times = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
    return times;
}

bool stays(milliseconds duration, const std::function<bool()>& holds) {
    return !eventually(duration, [&] { return !holds(); });
}

}  // namespace onceward::kafka_tests
