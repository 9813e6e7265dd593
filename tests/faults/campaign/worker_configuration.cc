#include "tests/faults/campaign/worker_configuration.h"

#include <sstream>

#include "tests/faults/campaign/message_source.h"
#include "tests/faults/campaign/request_clients.h"

namespace onceward::campaign {
namespace {

std::string_view name_of(Policy policy) {
    switch (policy) {
        case Policy::reject: return "reject";
        case Policy::derive: return "derive";
        case Policy::skip: return "skip";
    }
    return "";
}

void write_format(std::ostream& file, const TopicPlan& topic) {
    switch (topic.format) {
        case PayloadFormat::json: file << "    format: json\n"; return;
        case PayloadFormat::raw: file << "    format: raw\n"; return;
        case PayloadFormat::protobuf:
            file << "    format: protobuf\n    protobuf: {proto_files: [order.proto], "
                    "message: campaign.Order}\n";
            return;
    }
}

// A field's path, in the notation of the format; a header where there are no fields.
std::string source(PayloadFormat format, const std::string& field) {
    switch (format) {
        case PayloadFormat::json: return "/" + field;
        case PayloadFormat::protobuf: return field;
        case PayloadFormat::raw: break;
    }
    return "{header: " + field + "}";
}

void write_table(std::ostream& file, const TopicPlan& topic, const std::string& key,
                 const std::string& table) {
    file << "    sink:\n      transport: " << (topic.unnest ? "unnest" : "copy")
         << "\n      columns:\n        key: " << key
         << "\n        message_id: {header: " << id_header
         << ", required: true}\n        account: " << source(topic.format, "account")
         << "\n        amount: " << source(topic.format, "amount")
         << "\n        kafka_partition: {metadata: partition}\n"
            "        kafka_offset: {metadata: offset}\n      table: "
         << table << "\n";
}

// Answered late, a call is given up; a lease runs out within a seed many times.
void write_webhook(std::ostream& file, const Names& names, std::size_t topic, int slot) {
    file << "    sink:\n      webhook:\n        url: http://127.0.0.1:" << names.hook_port << "/"
         << topic
         << "\n        allow_private: [127.0.0.1]\n        timeout: 400ms\n"
            "        connect_timeout: 300ms\n        concurrency: 8\n        retries: 3\n"
            "        backoff: 50ms\n        headers: {"
         << worker_header << ": " << Names::worker(slot) << "}\n";
}

// What the topics say of their store; empty for nothing, which makes a log.
std::string_view store_of(const Plan& plan) {
    if (plan.outside == Outside::webhook) return "lease";
    if (plan.ledger.converts) return "auto";
    if (!plan.ledger.log) return "table";
    const bool by_default = plan.outside == Outside::nothing && !plan.ledger.per_partition;
    return by_default ? "" : "log";
}

void write_ledger(std::ostream& file, const Plan& plan, const Names& names) {
    const std::string_view store = store_of(plan);
    file << "    ledger:\n";
    if (!store.empty()) file << "      store: " << store << "\n";
    file << "      retention: " << plan.ledger.retention.count()
         << "ms\n      rotate_after: " << plan.ledger.rotate_after.count()
         << "ms\n      rotate_claims: " << plan.ledger.rotate_claims << "\n";
    if (store == "lease") file << "      lease: 1500ms\n";
    if (plan.ledger.per_partition) file << "      reach: partition\n";
    if (plan.workload.one_operation) file << "      name: " << ledger_of(plan, names, 0) << "\n";
}

// Answers with the column's source.
std::string write_key(std::ostream& file, const Plan& plan, const TopicPlan& topic) {
    std::string where;
    std::string column;
    switch (plan.workload.key) {
        case KeyPlace::header:
            where = std::string("{header: ") + key_header + ", kind: key}";
            column = std::string("{header: ") + key_header + "}";
            break;
        case KeyPlace::record_key:
            where = "record_key";
            column = "{metadata: record_key}";
            break;
        case KeyPlace::field:
            where = "{field: " + source(topic.format, "key") + ", kind: key}";
            column = source(topic.format, "key");
            break;
    }
    file << "    key:\n      sources: [" << where << "]\n";
    if (plan.workload.one_operation) file << "      operation: shared\n";
    file << "      on_missing: " << name_of(topic.on_missing)
         << "\n      on_invalid: " << name_of(topic.on_missing) << "\n";
    return column;
}

// Records of one account are in order; the id tells of which message each was made.
void write_outbox(std::ostream& file, const TopicPlan& topic, const std::string& published) {
    file << "    also_publish:\n      topic: " << published
         << "\n      key: " << source(topic.format, "account") << "\n      headers:\n        "
         << id_header << ": {header: " << id_header << ", required: true}\n";
}

// Each call under a lease that runs out within a seed many times.
void write_upstream(std::ostream& file, const Plan& plan, const Names& names, int slot) {
    file << "    - method: POST\n      path: /" << upstream_route
         << "/{id}\n      wait: 200ms\n      upstream:\n        url: http://127.0.0.1:"
         << names.hook_port
         << "\n        allow_private: [127.0.0.1]\n        timeout: 400ms\n"
            "        concurrency: 2\n        honours_key: true\n        on_unknown: "
         << (plan.ledger.log ? "release" : "hold") << "\n        headers: {" << worker_header
         << ": " << Names::worker(slot) << "}\n      ledger:\n        name: " << names.group
         << "-calls\n        store: lease\n        lease: 1500ms\n        retention: 10m\n        "
            "rotate_after: 75s\n";
}

// Two routes with one ledger: to a function, which answers with a body, and to a table. Claims and
// answers outlive the seed, in many generations. A third one calls on.
void write_routes(std::ostream& file, const Plan& plan, const Names& names, int slot) {
    file << "http:\n  listen: 127.0.0.1:" << names.doors.at(static_cast<std::size_t>(slot))
         << "\n  routes:\n";
    for (const bool function : {true, false}) {
        file << "    - method: POST\n      path: /" << (function ? function_route : table_route)
             << "\n      wait: 200ms\n      sink:\n        "
             << (function ? "function: " + names.request_function()
                          : "table: " + names.request_table())
             << "\n        columns: {key: {header: idempotency-key}, body: /body}\n"
                "      ledger:\n        name: "
             << names.group << "-requests\n        store: " << (plan.ledger.log ? "log" : "table")
             << "\n        retention: 10m\n        rotate_after: "
             << plan.ledger.rotate_after.count()
             << "ms\n        rotate_claims: " << plan.ledger.rotate_claims << "\n";
    }
    write_upstream(file, plan, names, slot);
}

}  // namespace

std::string ledger_of(const Plan& plan, const Names& names, std::size_t topic) {
    return plan.workload.one_operation ? names.group + "-shared"
                                       : names.group + "/" + names.topics.at(topic);
}

std::string table_ledgers(const Plan& plan, const Names& names) {
    std::string sql;
    for (std::size_t topic = 0; topic < names.topics.size(); ++topic) {
        sql += "INSERT INTO " + names.schema +
               ".ledgers (name, store, reach, retention) VALUES ('" +
               ledger_of(plan, names, topic) +
               "', 'table', 'global', '1 day') ON CONFLICT DO NOTHING; ";
    }
    return sql;
}

const char* const request_columns =
    "number bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL, body text NOT NULL";

std::string request_function(const Names& names) {
    return "CREATE FUNCTION " + names.request_function() +
           "(requests jsonb[]) RETURNS TABLE (effect bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN "
           "QUERY INSERT INTO " +
           names.request_table() +
           " (key, body) SELECT r.request ->> 'key', r.request ->> 'body' FROM unnest(requests) "
           "WITH ORDINALITY AS r (request, place) ORDER BY r.place RETURNING number; END $$";
}

std::string sink_columns(Trial trial) {
    const bool changes = trial == Trial::schema_changes;
    return std::string("message_id bigint NOT NULL, key text, account text, amount ") +
           (changes ? "int" : "bigint") +
           " CHECK (amount >= 0),"
           "kafka_partition int NOT NULL, kafka_offset bigint NOT NULL,"
           "landed bigint GENERATED ALWAYS AS IDENTITY" +
           // A table that is written again loses each row's xmin.
           (changes ? std::string(", ") + written_by + " xid8 NOT NULL DEFAULT pg_current_xact_id()"
                    : "");
}

std::string own_code_of(std::uint64_t message_id) {
    return own_codes[message_id % own_codes.size()];
}

std::string listed_own_codes() {
    std::string codes;
    for (const char* code : own_codes)
        codes += (codes.empty() ? "'" : ", '") + std::string(code) + "'";
    return codes;
}

std::string own_code_trigger(const std::string& table) {
    return "CREATE FUNCTION " + table +
           "_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.amount < 0 THEN "
           "RAISE EXCEPTION 'refused by a rule of its own' USING ERRCODE = (ARRAY[" +
           listed_own_codes() + "])[1 + NEW.message_id % " + std::to_string(own_codes.size()) +
           "]; END IF; RETURN NEW; END $$; CREATE TRIGGER refuse BEFORE INSERT ON " + table +
           " FOR EACH ROW EXECUTE FUNCTION " + table + "_refuse()";
}

support::Properties group_properties(const FleetPlan& fleet) {
    support::Properties properties{{"max.poll.interval.ms", "2000"}};
    switch (fleet.assignor) {
        case Assignor::eager:
            properties.emplace_back("partition.assignment.strategy", "range");
            break;
        case Assignor::cooperative:
            properties.emplace_back("partition.assignment.strategy", "cooperative-sticky");
            break;
        case Assignor::consumer_protocol:
            // The broker decides on the assignor and the time-outs.
            properties.emplace_back("group.protocol", "consumer");
            return properties;
    }
    properties.emplace_back("session.timeout.ms", "1000");
    properties.emplace_back("heartbeat.interval.ms", "100");
    return properties;
}

std::string worker_configuration(const Plan& plan, const Names& names, const Addresses& addresses,
                                 int slot) {
    std::ostringstream file;
    file << "group: " << names.group << "\nworkers: " << plan.fleet.workers
         << "\ndrain_timeout: 1s\nadmin: {listen: \"127.0.0.1:0\"}\nkafka:\n  bootstrap_servers: "
         << addresses.bootstrap_servers << "\n";
    if (plan.fleet.static_members) file << "  instance_id: process-" << slot << "\n";
    file << "  properties:\n";
    for (const auto& [name, value] : group_properties(plan.fleet))
        file << "    " << name << ": " << value << "\n";
    file << "    reconnect.backoff.ms: 50\n    reconnect.backoff.max.ms: 200\n"
            "    fetch.wait.max.ms: 50\n    topic.metadata.refresh.interval.ms: 500\n"
            "    socket.timeout.ms: 5000\n"
         << "postgres:\n  dsn: \"" << addresses.dsn << "\"\n  schema: " << names.schema
         << "\n  application_name: " << Names::worker(slot)
         << "\n  lock_timeout: 1s\n  statement_timeout: 5s\n  connect_timeout: 2s\n"
            "  idle_in_transaction_timeout: 1500ms\n  client_check_interval: 500ms\n"
            "  tcp_user_timeout: 2s\n"
         << "batch:\n  messages: " << plan.fleet.batch_messages << "\ntopics:\n";
    for (std::size_t i = 0; i < names.topics.size(); ++i) {
        const TopicPlan& topic = plan.workload.topics[i];
        file << "  - name: " << names.topics[i]
             << "\n    start: earliest\n    tombstones: " << name_of(topic.tombstones) << "\n";
        write_format(file, topic);
        write_ledger(file, plan, names);
        const std::string key = write_key(file, plan, topic);
        if (plan.outside == Outside::webhook) {
            write_webhook(file, names, i, slot);
        } else {
            write_table(file, topic, key, names.table(i));
        }
        if (plan.outside == Outside::outbox) write_outbox(file, topic, names.published);
    }
    if (plan.outside == Outside::http) write_routes(file, plan, names, slot);
    return file.str();
}

}  // namespace onceward::campaign
