// `onceward produce`: records from a file or standard input into a topic, each under an idempotency
// key.

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/produce/production.h"
#include "cli/terminal/command.h"
#include "cli/terminal/stop_request.h"
#include "cli/terminal/exit_code.h"
#include "consumer/decode/decoder.h"
#include "consumer/produce/ndjson_csv_reader.h"

namespace onceward {
namespace {

struct ProduceArguments {
    std::string input = "-";
    std::string input_format;
    std::string configuration;
    std::vector<std::string> properties;
    std::string format;
    bool json = false;
    ProductionOptions production;
};

// What the configuration says of the broker and of this topic; the command line's own options win.
void take_configuration(ProduceArguments& arguments) {
    LoadOptions load;
    load.strict_environment = false;  // the worker's database is of no concern here
    const LoadResult result = load_configuration(arguments.configuration, load);
    if (!result.usable()) {
        std::string text;
        for (const Finding& finding : result.findings)
            text += to_text(finding, arguments.configuration) + "\n";
        throw ConfigurationError(text);
    }
    const Configuration& configuration = result.configuration;
    ProductionOptions& production = arguments.production;
    ProducerOptions configured = producer_options(configuration.kafka);
    if (production.producer.bootstrap_servers.empty())
        production.producer.bootstrap_servers = std::move(configured.bootstrap_servers);
    production.producer.properties.merge(configured.properties);
    if (production.topic.empty() && configuration.topics.size() == 1)
        production.topic = configuration.topics.front().name;
    for (const TopicConfiguration& topic : configuration.topics) {
        if (topic.name == production.topic && arguments.format.empty())
            production.format = topic.format;
    }
}

void take_properties(ProduceArguments& arguments) {
    for (const std::string& property : arguments.properties) {
        const std::size_t equals = property.find('=');
        usage_error_if(equals == std::string::npos || equals == 0,
                       "-X " + property + ": write it as name=value");
        arguments.production.producer.properties[property.substr(0, equals)] =
            property.substr(equals + 1);
    }
}

void complete(ProduceArguments& arguments) {
    ProductionOptions& production = arguments.production;
    if (!arguments.configuration.empty()) take_configuration(arguments);
    take_properties(arguments);
    usage_error_if(production.producer.bootstrap_servers.empty(),
                   "no broker is named: give --bootstrap-server HOST:PORT, or -c FILE");
    if (production.topic.empty()) throw UsageError("no topic is named: give --topic NAME");
    if (!arguments.format.empty()) {
        production.format.format = arguments.format == "protobuf" ? Format::protobuf : Format::json;
    }
    usage_error_if(production.format.format == Format::raw,
                   "topic " + production.topic +
                       " is raw in the configuration: say --format json or protobuf");
    usage_error_if(
        production.format.format == Format::protobuf && production.format.message.empty(),
        "--format protobuf needs --message NAME and --descriptor-set or --proto");
    const bool named_csv = arguments.input.ends_with(".csv");
    production.csv = arguments.input_format.empty() ? named_csv : arguments.input_format == "csv";
}

void show(const ProduceArguments& arguments, const ProductionTotals& totals) {
    if (arguments.json) {
        std::cout << "{\"records\": " << totals.records
                  << ", \"unique_keys\": " << totals.unique_keys
                  << ", \"repeats\": " << totals.repeats << ", \"failed\": " << totals.failed
                  << ", \"bad_lines\": " << totals.bad_lines << "}\n";
        return;
    }
    const std::pair<const char*, std::int64_t> lines[] = {{"records", totals.records},
                                                          {"unique keys", totals.unique_keys},
                                                          {"repeats", totals.repeats},
                                                          {"failed", totals.failed},
                                                          {"bad lines", totals.bad_lines}};
    for (const auto& [name, count] : lines) {
        std::cout << std::left << std::setw(12) << name << ' ' << std::right << std::setw(12)
                  << count << '\n';
    }
}

int run(ProduceArguments& arguments) {
    try {
        complete(arguments);
        std::ifstream file;
        if (arguments.input != "-") {
            file.open(arguments.input);
            if (!file) throw UsageError("cannot open " + arguments.input);
        }
        const StopRequest stop;
        const bool terminal = isatty(STDERR_FILENO) != 0;
        ProductionOptions& production = arguments.production;
        production.stopped = stop_requested;
        production.report = [terminal](const std::string& reason) {
            std::fprintf(stderr, "%s%s\n", terminal ? "\r\x1b[K" : "", reason.c_str());
        };
        if (terminal) {
            production.progress = [](std::int64_t sent, std::int64_t delivered) {
                std::fprintf(stderr, "\r\x1b[K%lld sent, %lld delivered",
                             static_cast<long long>(sent), static_cast<long long>(delivered));
            };
        }
        const ProductionTotals totals =
            produce(arguments.input == "-" ? std::cin : file, production);
        if (terminal) std::fputs("\r\x1b[K", stderr);
        show(arguments, totals);
        if (totals.failed > 0)
            std::cerr << totals.failed << " records did not arrive: " << totals.first_failure
                      << '\n';
        if (totals.bad_lines > 0 && !production.skip_bad_lines)
            std::cerr << "Reading stopped at the bad line; the lines before it were produced. "
                         "--skip-bad-lines continues after one.\n";
        if (stop_requested()) return exit_interrupted;
        return totals.failed > 0 || totals.bad_lines > 0 ? exit_failure : exit_ok;
    } catch (const UsageError& error) {
        std::fprintf(stderr, "onceward produce: %s\n", error.what());
        return exit_usage;
    } catch (const InputError& error) {
        std::fprintf(stderr, "onceward produce: %s\n", error.what());
    } catch (const FormatError& error) {
        std::fprintf(stderr, "onceward produce: %s\n", error.what());
    } catch (const ProducerError& error) {
        std::fprintf(stderr, "onceward produce: %s\n", error.what());
    }
    return exit_failure;
}

}  // namespace

void add_produce(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<ProduceArguments>();
    ProductionOptions& production = arguments->production;
    CLI::App& command = *program.add_subcommand(
        "produce", "Write records from NDJSON or CSV to a topic, each under an idempotency key");
    command.add_option("input", arguments->input, "File to read; - is standard input")
        ->capture_default_str();
    command
        .add_option("--input-format", arguments->input_format,
                    "ndjson or csv (default: by the file's ending, else ndjson)")
        ->check(CLI::IsMember({"ndjson", "csv"}));
    command.add_option("--topic,-t", production.topic, "Topic to write to");
    command.add_option("--bootstrap-server,-b", production.producer.bootstrap_servers,
                       "Brokers, host:port,host:port");
    command
        .add_option("--config,-c", arguments->configuration,
                    "Take brokers, credentials and the topic's format from this file")
        ->check(CLI::ExistingFile);
    command.add_option("-X", arguments->properties, "A librdkafka property, name=value")
        ->take_all();
    command
        .add_option("--format,-f", arguments->format,
                    "json or protobuf (default: the configuration's, else json)")
        ->check(CLI::IsMember({"json", "protobuf"}));
    command.add_option("--message", production.format.message,
                       "Protobuf: the message's full name, such as shop.v1.Payment");
    command.add_option("--descriptor-set", production.format.descriptor_set,
                       "Protobuf: a file made by protoc --include_imports --descriptor_set_out");
    command.add_option("--proto", production.format.proto_files, "Protobuf: .proto files");
    command.add_option("--proto-path", production.format.proto_paths,
                       "Protobuf: folders that imports are looked up in");
    command.add_option("--key-field", production.key_field,
                       "The idempotency key: a field or JSON pointer (default: a UUID is made for "
                       "each record)");
    command
        .add_option("--key-header", production.key_header,
                    "Header that carries the idempotency key")
        ->capture_default_str();
    command.add_option("--record-key", production.record_key_field,
                       "The record's own key: a field or JSON pointer (default: none)");
    command
        .add_option("--repeat-share", production.repeat_share,
                    "Send this share of the records a second time under the same key, in "
                    "another partition where there are several")
        ->check(CLI::Range(0.0, 1.0));
    command.add_option("--count,-n", production.count, "Stop after so many records")
        ->check(CLI::PositiveNumber);
    command.add_option("--rate", production.rate, "Records a second at most")
        ->check(CLI::PositiveNumber);
    command.add_flag("--skip-bad-lines", production.skip_bad_lines,
                     "Report a bad line and continue, instead of stopping there");
    command.add_flag("--json", arguments->json, "Print the totals as a JSON object");
    commands.add(command, [arguments] { return run(*arguments); });
}

}  // namespace onceward
