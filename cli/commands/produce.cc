// `onceward produce`: records from a file or standard input into a topic, each under an idempotency
// key.

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/produce/production.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/property_arguments.h"
#include "cli/terminal/stop_request.h"
#include "consumer/decode/decoder.h"
#include "consumer/produce/ndjson_csv_reader.h"

namespace onceward {
namespace {

struct ProduceArguments {
    std::string input = "-";
    std::string input_format;
    ConfigFile config;
    std::vector<std::string> properties;
    std::string format;
    bool json = false;
    ProductionOptions production;
};

// What the configuration says of the broker and of this topic; the command line's own options win.
void take_configuration(ProduceArguments& arguments) {
    LoadOptions load;
    load.strict_environment = false;  // the worker's database is of no concern here
    const std::string file = arguments.config.path();
    const LoadResult result = load_configuration(file, load);
    if (!result.usable()) throw ConfigurationError(result.findings, file);
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
    for (const auto& [name, value] : property_arguments(arguments.properties)) {
        arguments.production.producer.properties[name] = value;
    }
}

void complete(ProduceArguments& arguments) {
    ProductionOptions& production = arguments.production;
    // With a broker on the command line no configuration is needed, and none is looked for.
    const bool needed = production.producer.bootstrap_servers.empty() &&
                        std::filesystem::exists(arguments.config.chosen());
    if (arguments.config.is_named() || needed) take_configuration(arguments);
    take_properties(arguments);
    usage_error_if(production.producer.bootstrap_servers.empty(),
                   "no broker is named: give --bootstrap-server HOST:PORT, or -c FILE");
    usage_error_if(production.topic.empty(), "no topic is named: give --topic NAME");
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
        return print_json({{"records", totals.records},
                           {"unique_keys", totals.unique_keys},
                           {"repeats", totals.repeats},
                           {"failed", totals.failed},
                           {"bad_lines", totals.bad_lines}});
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

// The file that is read, and how far; nullptr for standard input.
std::unique_ptr<std::ifstream> open_input(const std::string& input) {
    if (input == "-") return nullptr;
    auto file = std::make_unique<std::ifstream>(input);
    std::error_code folder;
    if (!*file || std::filesystem::is_directory(input, folder)) {
        throw UsageError("cannot open " + input);
    }
    return file;
}

// The part of the input that was read; nullopt if its end is not known.
std::optional<double> share_read(const ProduceArguments& arguments, std::ifstream* file,
                                 std::int64_t sent) {
    if (const auto count = arguments.production.count) {
        return static_cast<double>(sent) / static_cast<double>(*count);
    }
    std::error_code error;
    const auto size = file == nullptr ? 0 : std::filesystem::file_size(arguments.input, error);
    if (file == nullptr || error || size == 0) return std::nullopt;
    // tellg() says -1 at the end of the file.
    const auto place = static_cast<std::int64_t>(file->eof() ? std::streampos(-1) : file->tellg());
    return place < 0 ? 1.0 : static_cast<double>(place) / static_cast<double>(size);
}

int run(ProduceArguments& arguments) try {
    complete(arguments);
    const std::unique_ptr<std::ifstream> file = open_input(arguments.input);
    const StopRequest stop;
    ProductionOptions& production = arguments.production;
    production.stopped = stop_requested;
    production.report = warn;
    Progress progress("produce", "records");
    production.progress = [&](std::int64_t sent, std::int64_t delivered) {
        progress.at(delivered, share_read(arguments, file.get(), sent));
    };
    const ProductionTotals totals =
        produce(file ? static_cast<std::istream&>(*file) : std::cin, production);
    hide_progress();
    show(arguments, totals);
    warn_if(totals.failed > 0,
            std::to_string(totals.failed) + " records did not arrive: " + totals.first_failure);
    warn_if(totals.gave_up,
            "reading stopped after record " + std::to_string(totals.records) +
                ": no broker took a record in time; the records after it were not sent");
    warn_if(totals.bad_lines > 0 && !production.skip_bad_lines,
            "reading stopped at the bad line; the lines before it were produced. "
            "--skip-bad-lines continues after one");
    if (stop_requested()) return exit_interrupted;
    return totals.failed > 0 || totals.bad_lines > 0 ? exit_failure : exit_ok;
} catch (const FormatError& error) {
    // The error is about the message's type, which the command line or the configuration names.
    throw CommandError(exit_failure, error.what());
}

// What a record is, and which of its fields are keys.
void add_record_options(CLI::App& command, ProduceArguments& arguments) {
    ProductionOptions& production = arguments.production;
    command
        .add_option("--format,-f", arguments.format,
                    "What the records are; default: the configuration's format, else json")
        ->check(one_of({"json", "protobuf"}))
        ->type_name("FORMAT");
    command
        .add_option("--message", production.format.message,
                    "Protobuf: the message's full name, such as shop.v1.Payment")
        ->type_name("NAME");
    command
        .add_option("--descriptor-set", production.format.descriptor_set,
                    "Protobuf: a file made by protoc --include_imports --descriptor_set_out")
        ->type_name("FILE");
    command.add_option("--proto", production.format.proto_files, "Protobuf: .proto files")
        ->type_name("FILE");
    command
        .add_option("--proto-path", production.format.proto_paths,
                    "Protobuf: folders that imports are looked up in")
        ->type_name("FOLDER");
    command
        .add_option("--key-field", production.key_field,
                    "The idempotency key: a field or JSON pointer; default: a new UUID for each "
                    "record")
        ->type_name("FIELD");
    command
        .add_option("--key-header", production.key_header,
                    "Header that carries the idempotency key")
        ->type_name("NAME")
        ->capture_default_str();
    command
        .add_option("--record-key", production.record_key_field,
                    "The record's own key: a field or JSON pointer; default: none")
        ->type_name("FIELD");
}

}  // namespace

void add_produce(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<ProduceArguments>();
    ProductionOptions& production = arguments->production;
    CLI::App& command = *program.add_subcommand(
        "produce", "Write records from NDJSON or CSV to a topic, each under an idempotency key");
    command.add_option("input", arguments->input, "The file to read; - is standard input")
        ->capture_default_str();
    command
        .add_option("--input-format", arguments->input_format,
                    "What the file holds; default: by its ending, else ndjson")
        ->check(one_of({"ndjson", "csv"}))
        ->type_name("FORMAT");
    command
        .add_option("--topic,-t", production.topic,
                    "The topic to write to; default: the configuration's, if it has one alone")
        ->type_name("NAME");
    command
        .add_option("--bootstrap-server,-b", production.producer.bootstrap_servers,
                    "Brokers, host:port,host:port; without -c no configuration is read then")
        ->type_name("SERVERS");
    add_config_option(command, arguments->config)->group(place_options);
    command.add_option("-X", arguments->properties, "A librdkafka property, name=value")
        ->type_name("NAME=VALUE")
        ->take_all();
    add_record_options(command, *arguments);
    command
        .add_option("--repeat-share", production.repeat_share,
                    "Send this share of the records a second time under the same key, in "
                    "another partition where there are several")
        ->check(number_within(0, 1))
        ->type_name("SHARE");
    command.add_option("--count,-n", production.count, "Stop after so many records")
        ->check(whole_number(1))
        ->type_name("N");
    command.add_option("--rate", production.rate, "Records a second at most")
        ->check(number_above(0))
        ->type_name("NUMBER");
    command.add_flag("--skip-bad-lines", production.skip_bad_lines,
                     "Report a bad line and continue, instead of stopping there");
    command.add_flag("--json", arguments->json, "Print JSON, and errors as JSON");
    end_help(command,
             {.examples = {{"produce orders.ndjson --key-field /id",
                            "to the topic of the configuration, keyed by the member id"},
                           {"produce orders.csv -b localhost:9092 -t orders",
                            "without a configuration, each record under a new UUID"}},
              .exit_codes = {{exit_ok, "Kafka has every record"},
                             {exit_failure, "some did not arrive, or a line is bad"},
                             {exit_interrupted, "interrupted"}}});
    commands.add(command, [arguments] { return run(*arguments); });
}

}  // namespace onceward
