#include "cli/connectors/connector_conversion.h"

#include <algorithm>
#include <charconv>

#include "cli/connectors/connector_topics.h"
#include "cli/connectors/connector_transforms.h"
#include "cli/connectors/jdbc_url.h"

namespace onceward {
namespace {

bool is_debezium(const std::string& connector_class) {
    return connector_class.starts_with("io.debezium.");
}

std::string checked_class(ConnectorOptions& options) {
    std::string name = options.text("connector.class", "");
    const std::string last = name.substr(name.find_last_of('.') + 1);
    if (last != "JdbcSinkConnector" && last != "PostgresSink") {
        throw ConnectorError(
            "`connector.class` is `" + name +
            "`. Only JDBC sinks can be converted: io.confluent.connect.jdbc.JdbcSinkConnector, "
            "io.aiven.connect.jdbc.JdbcSinkConnector, io.debezium.connector.jdbc.JdbcSinkConnector "
            "and Confluent Cloud's PostgresSink.");
    }
    return name;
}

// `least` if the text is no number.
int number(const std::string& text, int least) {
    int value = least;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return std::max(value, least);
}

// The last part of a class's name, or a format's name as Confluent Cloud writes it.
std::string converter(ConnectorOptions& options, const std::string& of) {
    static const std::map<std::string, std::string> cloud = {
        {"AVRO", "AvroConverter"},          {"PROTOBUF", "ProtobufConverter"},
        {"JSON_SR", "JsonSchemaConverter"}, {"JSON", "JsonConverter"},
        {"BYTES", "ByteArrayConverter"},    {"STRING", "StringConverter"}};
    const std::string name = options.text(of + ".converter", "");
    if (!name.empty()) return name.substr(name.find_last_of('.') + 1);
    const auto found =
        cloud.find(options.text(of == "value" ? "input.data.format" : "input.key.format", ""));
    return found == cloud.end() ? "" : found->second;
}

void read_registry(ConnectorOptions& options, ConnectorPlan& plan) {
    plan.registry = options.text("value.converter.schema.registry.url", "${SCHEMA_REGISTRY_URL}");
    bool more = false;
    for (const auto& [name, value] : options.below("value.converter.")) {
        more = more || name.find("auth") != name.npos || name.find(".ssl.") != name.npos;
    }
    if (more) {
        plan.notes.push_back({"value.converter.schema.registry.*",
                              "How to log in at the registry was not copied. Write it below "
                              "`registries`."});
    }
}

void read_format(ConnectorOptions& options, bool envelope, ConnectorPlan& plan) {
    const std::string value = converter(options, "value");
    const bool with_schema = options.flag("value.converter.schemas.enable", true);
    if (value == "AvroConverter" || value == "ProtobufConverter" ||
        value == "JsonSchemaConverter") {
        plan.format = value == "AvroConverter"       ? "avro"
                      : value == "ProtobufConverter" ? "protobuf"
                                                     : "json";
        read_registry(options, plan);
    } else if (value == "StringConverter" || value == "ByteArrayConverter") {
        plan.format = "raw";
        plan.notes.push_back({"value.converter",
                              "The payload is not read. It can become one "
                              "column: `{metadata: payload}`."});
    } else if (value != "JsonConverter") {
        plan.notes.push_back({"value.converter",
                              "It is not given here, so the worker's own counts, "
                              "which this file does not show. JSON with its "
                              "schema is assumed."});
    }
    if (plan.format == "json") {
        plan.envelope = envelope                                        ? "debezium"
                        : with_schema && value != "JsonSchemaConverter" ? "connect"
                                                                        : "";
    } else if (envelope && plan.format == "avro") {
        plan.envelope = "debezium";
    } else if (envelope && plan.format == "protobuf") {
        plan.notes.push_back({"value.converter",
                              "An envelope is not taken off Protobuf, so each path begins with "
                              "`after`; a delete event has no such row and is rejected."});
    }
    options.below("value.converter.");
    options.below("key.converter.");
}

void read_deletes(ConnectorOptions& options, bool flat_key, ConnectorPlan& plan) {
    if (!options.flag("delete.enabled", false)) return;
    const bool upsert = !plan.topics.front().conflict_target.empty();
    if (plan.envelope == "debezium" && upsert) return;  // delete events remove their rows
    if (upsert && flat_key && plan.topics.front().conflict_target.size() == 1) {
        plan.tombstones = "delete";
        for (ConnectorTopic& topic : plan.topics) {
            for (ConnectorColumn& column : topic.columns) {
                if (column.name == topic.conflict_target.front()) {
                    column.source = "{metadata: record_key}";
                }
            }
        }
        return;
    }
    plan.notes.push_back({"delete.enabled",
                          "A tombstone cannot name its row here, because the record's key is not "
                          "one plain value. Change events (`envelope: debezium`) carry their "
                          "deletes themselves."});
}

const std::map<std::string, std::string>& advice() {
    static const std::map<std::string, std::string> all = {
        {"auto.create", "Tables are never created. Run the DDL yourself."},
        {"auto.evolve", "Tables are never altered. Run the DDL yourself, and add the column here."},
        {"schema.evolution",
         "Tables are never created or altered. Run the DDL yourself, and add the column here."},
        {"max.retries", "Failures of servers are retried without an end; they lose nothing."},
        {"retry.backoff.ms", "Pauses between tries double, up to a limit."},
        {"flush.max.retries", "Failures of servers are retried without an end."},
        {"flush.retry.delay.ms", "Pauses between tries double, up to a limit."},
        {"flush.failure.tolerance", "A batch is applied whole or not at all."},
        {"connection.attempts", "A connection is tried without an end."},
        {"connection.backoff.ms", "Pauses between tries double, up to a limit."},
        {"truncate.enabled", "Tables are never truncated."},
        {"errors.deadletterqueue.topic.replication.factor",
         "The topic of dead letters is never created. Create it, if it is not there yet."},
        {"errors.deadletterqueue.context.headers.enable",
         "A dead letter in the topic always has these headers."},
        {"errors.retry.timeout", "Failures of servers are retried without an end."},
        {"errors.retry.delay.max.ms", "Pauses between tries double, up to a limit."},
        {"errors.log.include.messages", "Payloads are never logged."},
        {"batch.sizes", "`batch.messages` bounds a transaction; the default is used."},
        {"linger.ms", "A batch is what came during the commit before it; there is no timer."},
        {"behavior.on.null.values", "See `tombstones`."},
    };
    return all;
}

// Options that need no note here if they have their usual values.
void read_matters_of_course(ConnectorOptions& options, ConnectorPlan& plan) {
    for (const char* const name :
         {"key.converter", "errors.log.enable", "hibernate.dialect", "db.name", "table.types",
          "quote.identifiers", "quote.sql.identifiers", "primary.key.mode", "pk.mode", "task.max",
          "connection.pool.min_size", "connection.pool.max_size", "connection.pool.timeout",
          "connection.pool.acquire_increment", "kafka.auth.mode", "schemas.enable",
          "use.reduction.buffer", "hibernate.connection.isolation"}) {
        (void)options.find(name);
    }
    for (const char* const name :
         {"auto.create", "auto.evolve", "truncate.enabled", "errors.log.include.messages"}) {
        if (!options.flag(name, false)) continue;
        plan.notes.push_back({name, advice().at(name)});
    }
    const std::string evolution = options.text("schema.evolution", "none");
    if (evolution != "none")
        plan.notes.push_back({"schema.evolution", advice().at("schema.evolution")});
    const std::string dialect = options.text("dialect.name", "PostgreSqlDatabaseDialect");
    if (dialect.find("ostgre") == std::string::npos) {
        plan.notes.push_back({"dialect.name", "The database is taken for PostgreSQL."});
    }
    for (const char* const name : {"db.timezone", "database.time_zone", "use.time.zone"}) {
        const std::string zone = options.text(name, "UTC");
        if (zone == "UTC") continue;
        plan.notes.push_back({name, "`" + zone +
                                        "`: times without a zone are never moved. Take "
                                        "`timestamptz` columns."});
    }
    if (options.text("errors.tolerance", "none") == "none") {
        plan.notes.push_back({"errors.tolerance",
                              "A message that cannot be applied stopped the task. Here it goes to "
                              "the dead letters; write `on_reject: halt` to stop the topic."});
    }
}

void read_dead_letters(ConnectorOptions& options, ConnectorPlan& plan) {
    plan.dead_letters = options.text("errors.deadletterqueue.topic.name", "");
    const std::string headers = "errors.deadletterqueue.context.headers.enable";
    // Connect leaves them out by default.
    if (!options.flag(headers, false) && !plan.dead_letters.empty()) {
        plan.notes.push_back({headers, advice().at(headers)});
    }
}

void read_consumer(ConnectorOptions& options, ConnectorPlan& plan) {
    static const std::vector<std::string> same = {
        "fetch.max.bytes",     "max.partition.fetch.bytes", "fetch.min.bytes",
        "session.timeout.ms",  "heartbeat.interval.ms",     "max.poll.interval.ms",
        "metadata.max.age.ms", "security.protocol",         "receive.message.max.bytes"};
    for (const auto& [name, value] : options.below("consumer.override.")) {
        if (std::ranges::find(same, name) != same.end()) {
            plan.kafka_properties.emplace_back(name, value);
        } else if (name != "auto.offset.reset" || value != "earliest") {
            plan.notes.push_back({"consumer.override." + name,
                                  name == "auto.offset.reset"
                                      ? "Write it as `start` and `start_fallback` of the topic."
                                      : "The client is librdkafka. Write its own name for it below "
                                        "`kafka.properties`, if it has one."});
        }
    }
}

void name_the_rest(const ConnectorOptions& options, ConnectorPlan& plan) {
    for (const std::string& name : options.rest()) {
        const auto known = advice().find(name);
        plan.notes.push_back({name, known == advice().end()
                                        ? "It is not known here and was left out."
                                        : known->second});
    }
}

}  // namespace

ConnectorPlan convert_connector(Connector connector) {
    ConnectorOptions& options = connector.options;
    const std::string connector_class = checked_class(options);
    ConnectorPlan plan;
    plan.group = "connect-" + connector.name;
    const JdbcUrl database = read_jdbc_url(options, plan.notes);
    plan.dsn = database.dsn;
    plan.workers = number(options.text("tasks.max", "1"), 1);
    plan.batch_messages = number(options.text("batch.size", "0"), 0);
    const ConnectorTransforms transforms = read_transforms(options);
    plan.notes.insert(plan.notes.end(), transforms.notes.begin(), transforms.notes.end());
    const bool envelope = transforms.unwraps || is_debezium(connector_class);
    read_format(options, envelope, plan);
    const bool flat_key = converter(options, "key") == "StringConverter";
    const ConnectorTables tables{.default_schema = database.schema,
                                 .debezium = is_debezium(connector_class),
                                 .transforms = transforms,
                                 .path_prefix = plan.envelope.empty() && envelope ? "after" : ""};
    plan_topics(options, tables, plan);
    read_deletes(options, flat_key, plan);
    read_matters_of_course(options, plan);
    read_dead_letters(options, plan);
    read_consumer(options, plan);
    name_the_rest(options, plan);
    return plan;
}

}  // namespace onceward
