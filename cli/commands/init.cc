// `onceward init`: a configuration to start from. An annotated one, or one that is made of a
// connector of Kafka Connect, or of a topic's newest records and its schema.

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "cli/check/topic_sample.h"
#include "cli/commands/commands.h"
#include "cli/configuration/registry.h"
#include "cli/connectors/connector_conversion.h"
#include "cli/connectors/connector_file.h"
#include "cli/proposal/proposal.h"
#include "cli/starters.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/property_arguments.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

struct InitOptions {
    std::string sink = "table";
    std::string connector;
    std::string topic;
    std::string brokers;
    std::string registry;
    std::vector<std::string> properties;
    int sample = 500;
    bool ddl = false;
};

int print_document(std::string_view text) {
    std::cout << text << std::flush;
    return std::cout.good() ? exit_ok : exit_failure;
}

std::string from_connector(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    try {
        return configuration_text(convert_connector(read_connector(text)));
    } catch (const ConnectorError& error) {
        throw ConfigurationError(file + ": " + error.what());
    }
}

KafkaOptions kafka_options(const InitOptions& options) {
    KafkaOptions kafka{.bootstrap_servers = options.brokers,
                       .group = "onceward-init",  // a client needs one; it joins none
                       .properties = property_arguments(options.properties),
                       .instance_id = ""};
    for (const auto& [name, value] : kafka.properties) {
        std::string fault = refused_property(name, value.reveal());
        if (fault.empty()) fault = unknown_property(name, value.reveal());
        usage_error_if(!fault.empty(), "-X " + name + ": " + fault);
    }
    return kafka;
}

// `sasl.password` becomes `${SASL_PASSWORD}`.
std::string variable_for(const std::string& property) {
    std::string name = property;
    for (char& letter : name) {
        const auto byte = static_cast<unsigned char>(letter);
        letter = static_cast<char>(std::isalnum(byte) != 0 ? std::toupper(byte) : '_');
    }
    return "${" + name + "}";
}

std::optional<RegistryConfiguration> registry_at(const std::string& url) {
    if (url.empty()) return std::nullopt;
    usage_error_if(!is_registry_address(url),
                   "--registry is no address of a registry, such as https://registry.example.com "
                   "(it is not shown, because it may hold a password)");
    RegistryConfiguration registry;
    registry.name = "main";
    registry.urls = {url.substr(0, url.find_last_not_of('/') + 1)};
    return registry;
}

SampledTopic sampled_topic(const InitOptions& options, const KafkaOptions& kafka) {
    SampledTopic topic{.name = options.topic,
                       .bootstrap_servers = options.brokers,
                       .registry = options.registry,
                       .group = ""};
    for (const auto& [name, value] : kafka.properties) {
        topic.properties.emplace_back(name, secret_property(name)
                                                ? variable_for(name)
                                                : replaced(value.reveal(), "$", "$$"));
    }
    return topic;
}

// The broker may forbid questions about groups.
std::string group_for(TopicSample& sample, const std::string& topic) {
    const std::string wanted = "onceward-" + topic;
    try {
        return sample.new_group(wanted);
    } catch (const KafkaError& error) {
        warn("whether the group " + wanted + " is new was not found out: " + error.what());
        return wanted;
    }
}

std::string from_topic(const InitOptions& options) try {
    usage_error_if(options.brokers.empty(), "--from-topic needs --brokers HOST:PORT");
    const KafkaOptions kafka = kafka_options(options);
    TopicSample sample(kafka, options.topic, registry_at(options.registry));
    if (!sample.exists()) {
        throw CommandError(exit_not_found, "the brokers know no topic " + options.topic);
    }
    const std::vector<Record>& records = sample.read(options.sample);
    const bool payloads =
        std::ranges::any_of(records, [](const Record& each) { return each.payload.has_value(); });
    const auto latest = payloads ? nullptr : sample.latest_schema();
    if (!payloads && !latest) {
        throw CommandError(exit_not_found,
                           "topic " + options.topic + " has no payload to make a proposal of",
                           options.registry.empty()
                               ? "with --registry its schema there would do"
                               : "the registry has no subject " + options.topic + "-value either");
    }
    SampledTopic topic = sampled_topic(options, kafka);
    topic.group = group_for(sample, options.topic);
    const Proposal proposal = propose(std::move(topic), records, sample.schemas(), latest.get());
    return options.ddl ? table_ddl(proposal) : proposal_text(proposal);
} catch (const FormatError& error) {
    throw CommandError(exit_failure, std::string("the topic's schema cannot be used: ") +
                                         error.what());
}

int init(const InitOptions& options) {
    if (!options.connector.empty()) return print_document(from_connector(options.connector));
    if (!options.topic.empty()) return print_document(from_topic(options));
    usage_error_if(!options.brokers.empty() || !options.registry.empty() || options.ddl ||
                       !options.properties.empty(),
                   "--brokers, --registry, --ddl and -X belong to --from-topic");
    return print_document(starters::table);
}

void add_topic_options(CLI::App& command, InitOptions& options, CLI::Option& positional) {
    command
        .add_option("--from-topic", options.topic,
                    "A topic, of whose newest records, or of whose schema, columns, key and table "
                    "are proposed; what was guessed is named in comments")
        ->type_name("NAME")
        ->check(not_empty("a topic"))
        ->excludes(&positional)
        ->excludes("--from-connector");
    command.add_option("--brokers,-b", options.brokers, "Its brokers, host:port,host:port")
        ->type_name("SERVERS");
    command
        .add_option("--registry", options.registry,
                    "The schema registry that has its schemas, such as "
                    "https://registry.example.com")
        ->type_name("URL");
    command.add_option("--sample", options.sample, "How many records are read, at most")
        ->check(whole_number(1, 10'000))
        ->capture_default_str()
        ->type_name("N");
    command.add_flag("--ddl", options.ddl, "Print the table's statement alone, as SQL");
    command
        .add_option("-X", options.properties,
                    "A librdkafka property, name=value; a variable stands for a secret in what is "
                    "printed")
        ->type_name("NAME=VALUE")
        ->take_all();
}

}  // namespace

void add_init(CLI::App& program, Commands& commands) {
    CLI::App* command =
        program.add_subcommand("init", "Print an annotated configuration to start from");
    auto options = std::make_shared<InitOptions>();
    CLI::Option* positional =
        command->add_option("sink", options->sink, "What messages are written to")
            ->check(one_of({"table"}))
            ->capture_default_str();
    command
        ->add_option("--from-connector", options->connector,
                     "A JDBC sink of Kafka Connect, as JSON, properties or Strimzi's YAML, to make "
                     "the configuration of; what has no equal is named in comments")
        ->type_name("FILE")
        ->check(CLI::ExistingFile)
        ->excludes(positional);
    add_topic_options(*command, *options, *positional);
    end_help(*command,
             {.notes = "With --from-connector nothing is connected to, and passwords are not "
                       "copied: variables stand for them.\nWith --from-topic the topic and the "
                       "registry are read. No group is joined, nothing is committed, no database "
                       "is asked, and the table's statement is printed, never run.",
              .examples = {{"init > onceward.yaml", "a first configuration"},
                           {"init --from-connector sink.json > onceward.yaml",
                            "from Kafka Connect's JDBC sink, Confluent's or Debezium's"},
                           {"init --from-topic orders --brokers localhost:9092 > onceward.yaml",
                            "from the topic's newest records"}},
              .exit_codes = {{exit_not_found,
                              "there is no such topic, or nothing in it to make a proposal of"}}});
    commands.add(*command, [options] { return init(*options); });
}

}  // namespace onceward
