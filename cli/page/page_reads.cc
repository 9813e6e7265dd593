#include "cli/page/page_reads.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/admin/verdicts.h"
#include "cli/terminal/exit_code.h"
#include "dedup/base/host_name.h"
#include "dedup/base/logging.h"
#include "dedup/server/migration.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto answer_within = 5s;         // a statement
constexpr auto rates_over = 15s;           // at least as old is what a rate is taken from
constexpr std::size_t most_readings = 60;  // no more than one a second
constexpr auto brokers_pause = 30s;        // after they have not answered
constexpr int most_questions = 256;        // to the brokers, for one answer

std::int64_t milliseconds_of(std::chrono::system_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

ConnectionOptions page_options(ConnectionOptions options) {
    options.application_name = "onceward page";
    options.statement_timeout = answer_within;
    options.lock_timeout = answer_within;
    return options;
}

double rate_of(std::int64_t now, std::int64_t then, double seconds) {
    return static_cast<double>(std::max<std::int64_t>(now - then, 0)) / seconds;
}

}  // namespace

HttpResponse page_answer(const nlohmann::json& json, int status) {
    return {.status = status,
            .headers = {{"Content-Type", "application/json"}},
            .body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

PageReads::PageReads(const Configuration& configuration, Status status)
    : configuration_(configuration), status_(std::move(status)), payloads_(configuration_) {
    for (Configuration& part : used_databases(configuration)) {
        part.postgres = page_options(part.postgres);
        servers_.push_back({std::move(part), nullptr});
    }
}

PageReads::~PageReads() = default;

void PageReads::use(const Configuration& configuration) {
    configuration_ = configuration;
    payloads_.forget();
    for (Configuration& part : used_databases(configuration)) {
        const auto server = std::ranges::find_if(servers_, [&](const Server& one) {
            return one.configuration.database == part.database;
        });
        if (server == servers_.end()) continue;
        part.postgres = server->configuration.postgres;
        server->configuration = std::move(part);
    }
}

void PageReads::look() { memory_.look(std::chrono::system_clock::now(), status_()); }

void PageReads::rest() {
    for (Server& server : servers_) server.connection.reset();
    brokers_.reset();
    readings_.clear();
}

HttpResponse PageReads::answer(const PageRequest& request) try {
    static const std::map<std::string, nlohmann::json (PageReads::*)(const PageRequest&)> paths{
        {"/api/overview", &PageReads::overview},
        {"/api/partitions", &PageReads::partitions},
        {"/api/key", &PageReads::key},
        {"/api/letters", &PageReads::letters},
        {"/api/letters/list", &PageReads::letter_list},
        {"/api/ledgers", &PageReads::ledgers},
        {"/api/rebalances", &PageReads::rebalances},
        {"/api/configuration", &PageReads::configuration},
        {"/api/acts", &PageReads::acts}};
    const auto found = paths.find(request.path);
    if (found == paths.end()) return page_answer({{"error", "There is no such path."}}, 404);
    return page_answer((this->*found->second)(request));
} catch (const UsageError& error) {
    return page_answer({{"error", error.what()}}, 400);
}

Connection& PageReads::session(Server& server) {
    if (!server.connection) {
        auto connection = std::make_unique<Connection>(server.configuration.postgres);
        require_version(*connection, NewerSchema::taken);
        connection->query(sql::group_totals_session, {});
        server.connection = std::move(connection);
    }
    return *server.connection;
}

void PageReads::each_server(nlohmann::json& into, const Read& read) {
    into["problems"] = nlohmann::json::array();
    into["read_at"] = milliseconds_of(std::chrono::system_clock::now());
    for (Server& server : servers_) {
        const auto failed = [&](const std::string& why) {
            server.connection.reset();
            into["problems"].push_back(
                {{"database", server.configuration.database}, {"error", why}});
        };
        try {
            read(session(server), server.configuration);
        } catch (const PostgresError& error) {
            failed(error.summary());
        } catch (const ServerRefused& error) {
            failed(error.what());
        } catch (const MigrationError& error) {
            failed(error.what());
        }
    }
}

std::vector<PartitionView> PageReads::all_partitions(nlohmann::json& into) {
    std::vector<PartitionView> views;
    each_server(into, [&](Connection& connection, const Configuration& part) {
        std::ranges::move(read_partitions(connection, part.database, configuration_.group),
                          std::back_inserter(views));
    });
    add_own(views, status_());
    ask_brokers(views);
    return views;
}

// PostgreSQL does not have the lag of other processes' partitions.
void PageReads::ask_brokers(std::vector<PartitionView>& views) {
    if (Clock::now() < brokers_again_) return;
    int questions = 0;
    try {
        for (PartitionView& view : views) {
            if (view.lag || view.worker || view.retired || ++questions > most_questions) continue;
            if (!brokers_) brokers_ = std::make_unique<BrokerView>(configuration_.kafka);
            const auto end = brokers_->queries().high_watermark(view.partition);
            if (end) view.lag = std::max<std::int64_t>(end->raw() - view.next_offset.raw(), 0);
        }
    } catch (const KafkaError& error) {
        log_debug("page.brokers_failed", {{"error", error.what()}});
        // A client that has forgotten its brokers does not find them again: see bootstrap_again().
        brokers_.reset();
        brokers_again_ = Clock::now() + brokers_pause;
    }
}

nlohmann::json PageReads::process_json() const {
    const ProcessStatus status = status_();
    nlohmann::json workers = nlohmann::json::array();
    for (const WorkerState& worker : status.workers) {
        const Worker::Status now = worker.status.value_or(Worker::Status{});
        workers.push_back({{"number", worker.number},
                           {"database", worker.database},
                           {"running", worker.status.has_value()},
                           {"ended", worker.ended},
                           {"connected", now.connected},
                           {"joined", now.joined},
                           {"partitions", now.partitions},
                           {"reading", now.reading},
                           {"failure", now.postgres_failure}});
    }
    const std::string host = host_name();
    return {{"name", (host.empty() ? "unknown" : host) + ":" + std::to_string(getpid())},
            {"started", milliseconds_of(status.started)},
            {"draining", status.draining},
            {"not_ready", readiness(status).reasons},
            {"not_alive", liveness(status).reasons},
            {"workers", workers}};
}

void PageReads::add_rates(nlohmann::json& topics, const std::vector<PartitionView>& views) {
    const auto now = Clock::now();
    Reading reading{.at = now};
    for (const PartitionView& view : views) {
        reading.topics[view.partition.topic] += view.totals;
    }
    std::erase_if(readings_, [&](const Reading& old) { return now - old.at > 4 * rates_over; });
    // The youngest reading that is old enough, else the oldest.
    const Reading* before = readings_.empty() ? nullptr : &readings_.front();
    for (const Reading& old : readings_) {
        if (now - old.at >= rates_over) before = &old;
    }
    for (nlohmann::json& topic : topics) {
        topic["rate"] = nullptr;
        if (before == nullptr || now - before->at < 500ms) continue;
        const auto then = before->topics.find(topic["topic"].get<std::string>());
        if (then == before->topics.end()) continue;
        const double seconds = std::chrono::duration<double>(now - before->at).count();
        const Totals& totals = reading.topics[topic["topic"].get<std::string>()];
        const Totals& old = then->second;
        topic["rate"] = {
            {"applied", rate_of(totals.applied, old.applied, seconds)},
            {"duplicates", rate_of(totals.duplicates, old.duplicates, seconds)},
            {"conflicts", rate_of(totals.conflicts, old.conflicts, seconds)},
            {"dead_lettered", rate_of(totals.dead_lettered, old.dead_lettered, seconds)},
            {"skipped", rate_of(totals.skipped, old.skipped, seconds)}};
    }
    readings_.push_back(std::move(reading));
    if (readings_.size() > most_readings) readings_.erase(readings_.begin());
}

nlohmann::json PageReads::overview(const PageRequest&) {
    nlohmann::json json{{"group", configuration_.group}, {"process", process_json()}};
    std::map<std::string, nlohmann::json> pauses;
    std::map<std::string, std::int64_t> letters;
    OutboxTotals outbox;
    nlohmann::json again = nlohmann::json::object();
    const std::vector<PartitionView> views = all_partitions(json);
    each_server(again, [&](Connection& connection, const Configuration&) {
        const Parameters group{configuration_.group};
        const QueryResult paused = connection.query(sql::pauses_open, group);
        for (int row = 0; row < paused.rows(); ++row) {
            pauses[std::string(paused.text(row, 0))] = {{"reason", paused.text(row, 1)},
                                                        {"by", paused.text(row, 2)},
                                                        {"at", paused.text(row, 3)}};
        }
        const QueryResult totals = connection.query(sql::outbox_totals, group);
        outbox.waiting += totals.integer(0, 0);
        outbox.oldest_seconds = std::max(outbox.oldest_seconds, totals.integer(0, 1));
        const QueryResult open =
            connection.query(sql::page_letter_groups, {configuration_.group, std::nullopt, true});
        for (int row = 0; row < open.rows(); ++row) {
            letters[std::string(open.text(row, 0))] += open.integer(row, 4);
        }
    });
    if (json["problems"].empty()) json["problems"] = again["problems"];
    std::map<std::string, std::vector<const PartitionView*>> by_topic;
    for (const TopicConfiguration& topic : configuration_.topics) by_topic[topic.name];
    for (const PartitionView& view : views) by_topic[view.partition.topic].push_back(&view);
    json["topics"] = nlohmann::json::array();
    for (const auto& [topic, partitions] : by_topic) {
        nlohmann::json row = topic_json(partitions);
        row["topic"] = topic;
        row["configured"] =
            std::ranges::find(configuration_.topics, topic, &TopicConfiguration::name) !=
            configuration_.topics.end();
        row["open_letters"] = letters[topic];
        row["paused"] = pauses.contains(topic) ? pauses[topic] : nlohmann::json(nullptr);
        json["topics"].push_back(std::move(row));
    }
    add_rates(json["topics"], views);
    json["outbox"] = {{"waiting", outbox.waiting}, {"oldest_seconds", outbox.oldest_seconds}};
    json["history"] = nlohmann::json::array();
    for (const PageSample& sample : memory_.samples()) {
        const Totals& totals = sample.totals;
        json["history"].push_back({milliseconds_of(sample.at) / 1000, totals.applied,
                                   totals.duplicates, totals.conflicts, totals.dead_lettered,
                                   totals.skipped, sample.lag});
    }
    return json;
}

nlohmann::json PageReads::partitions(const PageRequest& request) {
    nlohmann::json json{{"process", process_json()}};
    const auto topic = request.given("topic");
    const std::vector<PartitionView> views = all_partitions(json);
    json["partitions"] = nlohmann::json::array();
    for (const PartitionView& view : views) {
        if (!topic || view.partition.topic == *topic) json["partitions"].push_back(to_json(view));
    }
    return json;
}

nlohmann::json PageReads::rebalances(const PageRequest&) {
    nlohmann::json json{{"events", nlohmann::json::array()},
                        {"forgot", memory_.forgot_events()},
                        {"since", milliseconds_of(status_().started)},
                        {"takes", nlohmann::json::array()}};
    for (const PageEvent& event : memory_.events()) {
        json["events"].push_back({{"at", milliseconds_of(event.at)},
                                  {"kind", to_text(event.kind)},
                                  {"worker", event.worker},
                                  {"topic", event.partition.topic},
                                  {"partition", event.partition.partition.raw()},
                                  {"text", event.text}});
    }
    for (const PartitionView& view : all_partitions(json)) json["takes"].push_back(to_json(view));
    return json;
}

}  // namespace onceward
