#include "tests/faults/checker/scene.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/faults/checker/produced_list.h"
#include "tests/faults/checker/secrets.h"

namespace onceward::checker {
namespace {

using nlohmann::json;

// One object of the file: each member is taken once, and what nobody took is a mistake.
class Members {
  public:
    Members(const json& object, std::string name) : object_(object), name_(std::move(name)) {
        if (!object.is_object()) throw std::runtime_error("scene: " + name_ + " is no object");
    }
    template <typename T>
    void take(const char* member, T& value) {
        if (const json* found = find(member)) value = found->get<T>();
    }
    const json* find(const char* member) {
        taken_.push_back(member);
        const auto found = object_.find(member);
        return found == object_.end() ? nullptr : &*found;
    }
    const json& need(const char* member) {
        if (const json* found = find(member)) return *found;
        throw std::runtime_error("scene: " + name_ + " lacks " + member);
    }
    void end() const {
        for (const auto& [member, value] : object_.items()) {
            if (std::find(taken_.begin(), taken_.end(), member) == taken_.end()) {
                throw std::runtime_error("scene: " + name_ + " has an unknown member " + member);
            }
        }
    }

  private:
    const json& object_;
    std::string name_;
    std::vector<std::string> taken_;
};

Policy policy_of(const std::string& name, std::initializer_list<Policy> allowed) {
    for (const Policy policy : allowed) {
        switch (policy) {
            case Policy::reject:
                if (name == "reject") return policy;
                break;
            case Policy::skip:
                if (name == "skip") return policy;
                break;
            case Policy::derive:
                if (name == "derive") return policy;
                break;
            case Policy::remove:
                if (name == "delete") return policy;
                break;
        }
    }
    throw std::runtime_error("scene: unknown policy " + name);
}

TopicSettings topic_of(const json& object) {
    Members members(object, "topics");
    TopicSettings topic;
    topic.name = members.need("name").get<std::string>();
    members.take("operation", topic.operation);
    members.take("ledger", topic.ledger);
    members.take("upsert", topic.upsert);
    members.take("compacted", topic.compacted);
    members.take("fingerprints", topic.fingerprints);
    members.take("published", topic.published);
    members.take("leases", topic.leases);
    members.take("key_in_payload", topic.key_in_payload);
    std::string reach = "global";
    members.take("reach", reach);
    if (reach != "global" && reach != "partition") {
        throw std::runtime_error("scene: unknown reach " + reach);
    }
    topic.per_partition = reach == "partition";
    std::string tombstones = "reject";
    members.take("tombstones", tombstones);
    topic.tombstones = policy_of(tombstones, {Policy::reject, Policy::skip, Policy::remove});
    std::string without_key = "reject";
    members.take("without_key", without_key);
    topic.without_key = policy_of(without_key, {Policy::reject, Policy::skip, Policy::derive});
    members.end();
    return topic;
}

SinkTable sink_of(const json& object) {
    Members members(object, "sinks");
    SinkTable sink;
    sink.topic = members.need("topic").get<std::string>();
    sink.table = members.need("table").get<std::string>();
    members.take("id", sink.id);
    members.take("partition", sink.partition);
    members.take("offset", sink.offset);
    members.take("landed", sink.landed);
    members.take("key", sink.key);
    members.take("target", sink.target);
    members.take("topic_column", sink.topic_column);
    members.take("transaction", sink.transaction);
    members.end();
    return sink;
}

void take_postgres(const json& object, DatabaseSource& postgres) {
    Members members(object, "postgres");
    postgres.dsn = members.need("dsn").get<std::string>();
    postgres.schema = members.need("schema").get<std::string>();
    if (const json* sinks = members.find("sinks")) {
        for (const json& sink : *sinks) postgres.sinks.push_back(sink_of(sink));
    }
    members.end();
}

void take_kafka(const json& object, KafkaSource& kafka) {
    Members members(object, "kafka");
    kafka.bootstrap_servers = members.need("bootstrap_servers").get<std::string>();
    members.take("id_header", kafka.id_header);
    if (const json* properties = members.find("properties")) {
        for (const auto& [name, value] : properties->items()) {
            kafka.properties.emplace_back(name, value.get<std::string>());
        }
    }
    members.end();
}

void take_sample(const json& object, SampleOptions& sample) {
    Members members(object, "sample");
    members.take("pids", sample.pids);
    members.take("application_name", sample.application_name);
    std::int64_t every = sample.every.count();
    members.take("every_ms", every);
    sample.every = std::chrono::milliseconds(every);
    members.take("owners_every", sample.owners_every);
    if (sample.owners_every < 1) throw std::runtime_error("scene: owners_every is below 1");
    if (const json* object_of_budgets = members.find("budgets")) {
        Members budgets(*object_of_budgets, "budgets");
        budgets.take("rss_kib", sample.budgets.rss_kib);
        budgets.take("fds", sample.budgets.fds);
        budgets.take("threads", sample.budgets.threads);
        budgets.take("connections", sample.budgets.connections);
        budgets.end();
    }
    members.end();
}

int topic_in(const json& name, const Evidence& evidence) {
    const std::string topic = name.get<std::string>();
    const auto found = std::ranges::find(evidence.topics, topic, &TopicSettings::name);
    if (found == evidence.topics.end()) throw std::runtime_error("scene: no topic " + topic);
    return static_cast<int>(found - evidence.topics.begin());
}

void take_halted(const json& list, Evidence& evidence) {
    for (const json& object : list) {
        Members members(object, "halted");
        Halted halted;
        halted.name.topic = topic_in(members.need("topic"), evidence);
        members.take("partition", halted.name.partition);
        members.take("said", halted.said);
        members.end();
        evidence.halted.push_back(halted);
    }
}

void take_troubles(const json& list, Evidence& evidence) {
    for (const json& object : list) {
        Members members(object, "troubles");
        Trouble trouble{.topic = topic_in(members.need("topic"), evidence)};
        members.take("from_us", trouble.from_us);
        members.take("to_us", trouble.to_us);
        members.end();
        evidence.troubles.push_back(trouble);
    }
}

void take_standstills(const json& list, Evidence& evidence) {
    for (const json& object : list) {
        Members members(object, "standstills");
        Standstill still{.topic = topic_in(members.need("topic"), evidence)};
        members.take("from_us", still.from_us);
        members.end();
        evidence.standstills.push_back(still);
    }
}

Scene scene_of(const json& object, const std::filesystem::path& folder) {
    Scene scene;
    Members members(object, "scene");
    take_postgres(members.need("postgres"), scene.postgres);
    take_kafka(members.need("kafka"), scene.kafka);
    scene.postgres.consumer_group = members.need("group").get<std::string>();
    scene.kafka.consumer_group = scene.postgres.consumer_group;
    if (const json* produced = members.find("produced")) {
        scene.produced = folder / produced->get<std::string>();
    }
    members.take("published", scene.published);
    if (const json* calls = members.find("calls")) scene.calls = folder / calls->get<std::string>();
    if (const json* requests = members.find("requests")) {
        Members of_requests(*requests, "requests");
        scene.requests = folder / of_requests.need("file").get<std::string>();
        scene.request_table = of_requests.need("table").get<std::string>();
        of_requests.end();
    }
    if (const json* operators = members.find("operators")) {
        scene.operators = folder / operators->get<std::string>();
    }
    for (const json& topic : members.need("topics")) {
        scene.evidence.topics.push_back(topic_of(topic));
    }
    Settings& settings = scene.evidence.settings;
    if (const json* retention = members.find("retention_ms")) {
        settings.retention_us = retention->get<std::int64_t>() * 1000;
    }
    members.take("failed_over", settings.failed_over);
    if (const json* lost = members.find("lost")) {
        Members of_lost(*lost, "lost");
        of_lost.take("from_us", settings.lost_from_us);
        of_lost.take("to_us", settings.lost_to_us);
        of_lost.end();
    }
    members.take("committed_offset_moved", settings.committed_offset_moved);
    members.take("rewound", settings.rewound);
    members.take("one_session_each", settings.one_session_each);
    if (const json* halted = members.find("halted")) take_halted(*halted, scene.evidence);
    if (const json* troubles = members.find("troubles")) take_troubles(*troubles, scene.evidence);
    if (const json* still = members.find("standstills")) take_standstills(*still, scene.evidence);
    if (const json* secrets = members.find("secrets")) {
        Members of_secrets(*secrets, "secrets");
        scene.secrets_folder = folder / of_secrets.need("folder").get<std::string>();
        of_secrets.take("canaries", scene.canaries);
        of_secrets.take("except", scene.secrets_except);
        of_secrets.end();
    }
    if (const json* sample = members.find("sample")) take_sample(*sample, scene.sample);
    members.end();
    return scene;
}

}  // namespace

Scene read_scene(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    try {
        return scene_of(json::parse(stream), std::filesystem::absolute(file).parent_path());
    } catch (const json::exception& error) {
        throw std::runtime_error("scene: " + std::string(error.what()));
    }
}

// DANGER: Kafka's offsets first and the fences after them, as a worker that still runs moves the
// fence before the offset. The log last: no fence may be after an end that was read before.
void load_sources(const DatabaseSource& postgres, const KafkaSource& kafka, Evidence& evidence) {
    const std::vector<CommittedOffset> committed = committed_offsets(kafka, evidence);
    load_database(postgres, evidence);
    load_kafka(kafka, evidence);
    evidence.committed = committed;
}

Evidence gather(const Scene& scene) {
    Evidence evidence = scene.evidence;
    load_produced(scene.produced, evidence);
    if (!scene.calls.empty()) load_calls(scene.calls, evidence);
    load_sources(scene.postgres, scene.kafka, evidence);
    if (!scene.requests.empty()) {
        load_requests(scene.requests, evidence);
        load_request_effects(scene.postgres, scene.request_table, evidence);
    }
    excuse_what_was_lost(evidence);
    if (!scene.operators.empty()) load_key_commands(scene.operators, evidence);
    if (!scene.published.empty()) load_published(scene.kafka, scene.published, evidence);
    if (!scene.secrets_folder.empty()) {
        evidence.secrets = find_secrets(scene.secrets_folder, scene.canaries, scene.secrets_except);
    }
    return evidence;
}

}  // namespace onceward::checker
