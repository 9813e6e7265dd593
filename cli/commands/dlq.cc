// `onceward dlq`: dead letters, by hand: seen, sent to their topic again, or discarded.

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/configuration/units.h"
#include "cli/dlq/redrive.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/json_output.h"
#include "cli/terminal/stop_request.h"
#include "cli/terminal/text_table.h"
#include "dedup/base/text.h"
#include "schemas/queries.h"
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

constexpr std::size_t widest_cell = 200;  // bytes of a key or a reason in a table

struct DlqOptions : OperatorOptions {
    std::string topic;
    std::string key;
    std::string since;
    std::string until;
    std::vector<std::string> classes;
    std::vector<std::string> states;
    std::vector<std::int64_t> numbers;
    std::int64_t number = 0;
    std::int64_t limit = 1000;
    std::optional<double> rate;
    int tries_max = 5;
    bool may_repeat = false;
    bool dry_run = false;

    bool really() const { return yes && !dry_run; }
};

std::optional<std::chrono::milliseconds> time_of(const char* option, const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    if (const auto ago = parse_duration(text)) return now - *ago;
    const auto time = parse_timestamp(text);
    if (!time) {
        throw UsageError(std::string(option) +
                         " takes a time such as 2026-01-31T12:00:00Z, or how long ago, such as 1h "
                         "or 7d, not `" +
                         text + "`");
    }
    return time;
}

DeadLetterFilter filter_of(const DlqOptions& options, const OperatorSetup& setup) {
    DeadLetterFilter filter;
    filter.group = group_of(setup, options.group);
    filter.topic = options.topic;
    filter.classes = options.classes;
    filter.since = time_of("--since", options.since);
    filter.until = time_of("--until", options.until);
    filter.key = options.key;
    filter.numbers = options.numbers;
    filter.states = options.states;
    filter.limit = options.limit;
    if (std::ranges::find(filter.states, "all") != filter.states.end()) {
        filter.states = {"open", "redriving", "redriven", "resolved"};
    }
    return filter;
}

// What people and JSON can hold of a key's bytes.
nlohmann::json text_of(const std::optional<std::string>& bytes) {
    return bytes ? nlohmann::json(printable(*bytes)) : nlohmann::json(nullptr);
}

nlohmann::json to_json(const Letter& letter) {
    return {{"number", letter.number},
            {"topic", letter.topic},
            {"partition", letter.partition.raw()},
            {"offset", letter.offset.raw()},
            {"class", letter.error_class},
            {"sqlstate", letter.sqlstate},
            {"reason", letter.reason},
            {"created_at", letter.created_at},
            {"state", letter.state},
            {"attempts", letter.attempts},
            {"redrives", letter.redrives},
            {"key", text_of(letter.key_text)},
            {"record_key", text_of(letter.record_key)},
            {"payload_bytes", letter.payload_bytes}};
}

int list(const DlqOptions& options) {
    const std::vector<OperatorSetup> setups = operator_setups(options, "dlq list", options.topic);
    nlohmann::json all = nlohmann::json::array();
    TextTable table({"number", "topic", "partition", "offset", "class", "sqlstate", "at", "state",
                     "redrives", "key", "reason"});
    const int code = on_each(setups, [&](const OperatorSetup& setup) {
        Connection connection = reading_session(setup);
        for (const Letter& letter : select_letters(connection, filter_of(options, setup))) {
            all.push_back(to_json(letter));
            all.back()["database"] = setup.database;
            table.add({std::to_string(letter.number), letter.topic,
                       std::to_string(letter.partition.raw()), std::to_string(letter.offset.raw()),
                       letter.error_class, letter.sqlstate, letter.created_at, letter.state,
                       std::to_string(letter.redrives),
                       safe_value(printable(letter.key_text.value_or("")), widest_cell),
                       safe_value(letter.reason, widest_cell)});
        }
        return exit_ok;
    });
    if (options.json) {
        print_json(all);
    } else if (all.empty()) {
        std::cout << "no dead letter matches\n";
    } else {
        table.print(std::cout);
    }
    return code == exit_ok && all.empty() ? exit_not_found : code;
}

int show(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq show", options.topic);
    Connection connection = reading_session(setup);
    DeadLetterFilter filter;
    filter.group = group_of(setup, options.group);
    filter.numbers = {options.number};
    filter.limit = 1;
    const std::vector<Letter> letters = select_letters(connection, filter);
    const std::vector<DeadLetterRecord> records = read_records(connection, filter.numbers);
    if (letters.empty() || records.empty()) {
        std::cerr << "onceward: group " << filter.group << " has no dead letter " << options.number
                  << '\n';
        return exit_not_found;
    }
    const DeadLetterRecord& record = records.front();
    nlohmann::json json = to_json(letters.front());
    json["payload"] = text_of(record.payload);
    if (record.fingerprint) json["fingerprint"] = *record.fingerprint;
    if (record.first_fingerprint) json["first_fingerprint"] = *record.first_fingerprint;
    if (record.first_places) {
        json["first_places"] = nlohmann::json::parse(*record.first_places);
    }
    json["headers"] = nlohmann::json::array();
    for (const StoredHeader& header : record.headers) {
        json["headers"].push_back(
            {{"name", printable(header.name)}, {"value", text_of(header.value)}});
    }
    if (options.json) {
        print_json(json);
        return exit_ok;
    }
    for (const auto& [name, value] : json.items()) {
        if (value.is_array()) continue;
        std::cout << name << ": "
                  << (value.is_string() ? safe_value(value.get<std::string>()) : value.dump())
                  << '\n';
    }
    if (record.first_places) {
        std::cout << "first message: " << places_text(json["first_places"]) << '\n';
    }
    for (const auto& header : json["headers"]) {
        std::cout << "header " << safe_value(header["name"].get<std::string>()) << ": "
                  << (header["value"].is_null() ? "null"
                                                : safe_value(header["value"].get<std::string>()))
                  << '\n';
    }
    return exit_ok;
}

bool keys_are_places(const KeyOptions& key) {
    return key.on_missing == KeyPolicy::derive || key.on_invalid == KeyPolicy::derive ||
           std::ranges::any_of(key.sources, [](const KeySource& source) {
               return source.kind == KeySource::Kind::coordinates;
           });
}

void tell_what_stays(const DlqOptions& options, const RedrivePlan& plan) {
    if (plan.exhausted > 0) {
        std::cerr << "onceward: " << plan.exhausted << " were sent again " << options.tries_max
                  << " times or more and stay; fix the cause, then raise --max-tries\n";
    }
    if (plan.forgotten > 0) {
        std::cerr << "onceward: " << plan.forgotten
                  << " were sent or resolved before the claims of their ledger begin: what was "
                     "applied then could be applied a SECOND time. They stay; --may-repeat sends "
                     "them\n";
    }
    if (plan.uncertain > plan.forgotten) {
        std::cerr << "onceward: " << plan.uncertain - plan.forgotten
                  << " may be in the log already or applied, and their keys are made of their "
                     "offsets there: another copy could be applied a SECOND time. They stay; "
                     "--may-repeat sends them\n";
    }
    if (plan.behind > 0) {
        std::cerr << "onceward: " << plan.behind
                  << " have the record key of one that stays, so they stay too\n";
    }
}

int run_redrive(const DlqOptions& options, Connection& connection, const RedrivePlan& plan,
                const OperatorSetup& setup, bool by_key) {
    const StopRequest stop;
    RedriveOptions redriving;
    redriving.producer = producer_options(setup.configuration->kafka);
    redriving.topic = options.topic;
    redriving.rate = options.rate;
    redriving.by_key = by_key;
    redriving.stopped = [] { return stop_requested(); };
    const RedriveReport report = redrive(connection, plan.letters, redriving);
    const auto all = static_cast<std::int64_t>(plan.letters.size());
    if (options.json) {
        print_json({{"picked", all},
                    {"delivered", report.delivered},
                    {"exhausted", plan.exhausted},
                    {"uncertain", plan.uncertain},
                    {"behind", plan.behind},
                    {"reopened", report.reopened},
                    {"done", report.delivered == all}});
    } else {
        std::cout << "sent again " << report.delivered << " of " << all << '\n';
    }
    if (report.delivered == all) return exit_ok;
    const std::int64_t marked = all - report.delivered - report.reopened;
    if (marked > 0) {
        std::cerr << "onceward: " << marked
                  << " stay marked as redriving; the next redrive sends them\n";
    }
    if (report.reopened > 0) {
        std::cerr << "onceward: " << report.reopened << " were not sent, and are open as before\n";
    }
    if (!report.first_failure.empty()) {
        std::cerr << "onceward: Kafka says: " << report.first_failure << '\n';
    }
    return stop_requested() ? exit_interrupted : exit_failure;
}

int redrive_letters(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq redrive", options.topic);
    const Configuration& configuration =
        configuration_of(setup, "the brokers are needed: give a configuration with -c");
    const TopicConfiguration& topic = topic_named(configuration, options.topic);
    DeadLetterFilter filter = filter_of(options, setup);
    if (filter.states.empty()) filter.states = {"open", "redriving"};
    Connection connection = writing_session(setup);
    // Take this lock first: letters found marked after it belong to no running redrive.
    if (options.really() && !lock_redrives(connection, filter.group, filter.topic)) {
        throw std::runtime_error("another redrive of topic " + options.topic + " is under way");
    }
    RedriveRules rules;
    rules.by_key = topic.reject.order == RejectPolicy::Order::by_key;
    rules.keys_are_places = keys_are_places(topic.key);
    rules.may_repeat = options.may_repeat;
    rules.tries_max = options.tries_max;
    const RedrivePlan plan =
        plan_redrive(select_for_redrive(connection, filter, rules.by_key), rules);
    tell_what_stays(options, plan);
    if (plan.letters.empty()) {
        std::cout << (options.json ? "{\"picked\": 0}\n" : "there is nothing to send again\n");
        return exit_not_found;
    }
    if (rules.by_key && !options.json) {
        std::cout << "order: by_key: messages in the log under these record keys that are not read "
                     "yet come before the copies\n";
    }
    if (options.really()) return run_redrive(options, connection, plan, setup, rules.by_key);
    if (options.json) {
        nlohmann::json letters = nlohmann::json::array();
        for (const Letter& letter : plan.letters) letters.push_back(to_json(letter));
        print_json({{"picked", plan.letters.size()},
                    {"exhausted", plan.exhausted},
                    {"uncertain", plan.uncertain},
                    {"behind", plan.behind},
                    {"letters", letters},
                    {"done", false}});
        return exit_ok;
    }
    std::cout << "would send again " << plan.letters.size() << " to " << options.topic
              << "\nnothing was changed; do it with --yes\n";
    return exit_ok;
}

int discard(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq discard", options.topic);
    DeadLetterFilter filter = filter_of(options, setup);
    if (filter.states.empty()) filter.states = {"open"};
    Connection connection = writing_session(setup);
    std::vector<std::int64_t> numbers;
    for (const Letter& letter : select_letters(connection, filter)) {
        numbers.push_back(letter.number);
    }
    std::int64_t gone = 0;
    if (options.really()) {
        gone =
            connection.query(sql::dlq_discard, Parameters{}.integers(numbers).text(options.reason))
                .integer(0, 0);
    }
    if (options.json) {
        print_json({{"picked", numbers.size()}, {"discarded", gone}, {"done", options.really()}});
    } else if (options.really()) {
        std::cout << "discarded " << gone << "; discarded_dead_letters says who, when and why\n";
    } else {
        std::cout << "would discard " << numbers.size()
                  << ", with their payloads\nnothing was changed; do it with --yes\n";
    }
    return numbers.empty() ? exit_not_found : exit_ok;
}

void add_filters(CLI::App& command, DlqOptions& options, bool changes) {
    CLI::Option* topic = command.add_option("--topic", options.topic, "Only this topic");
    if (changes) topic->required();
    command
        .add_option("--class", options.classes,
                    "Only these classes: undecodable, missing_key, invalid_key, tombstone, "
                    "unmappable, sink, conflict, `behind`, hot_key")
        ->check(CLI::IsMember({"undecodable", "missing_key", "invalid_key", "tombstone",
                               "unmappable", "sink", "conflict", "behind", "hot_key"}));
    command.add_option("--since", options.since,
                       "Rejected then or later: 2026-01-31T12:00:00Z, or how long ago, 1h");
    command.add_option("--until", options.until, "Rejected before then");
    command.add_option("--key", options.key, "Only this idempotency key, or this record key");
    command.add_option("--number", options.numbers, "Only these, by the numbers of `dlq list`");
    command
        .add_option("--state", options.states,
                    "open (the default), redriving, redriven, resolved or all")
        ->check(CLI::IsMember({"open", "redriving", "redriven", "resolved", "all"}));
    command.add_option("--limit", options.limit, "At most this many, the oldest first")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    if (!changes) return;
    add_yes_flag(command, options);
    command.add_flag("--dry-run", options.dry_run, "Only show what would happen, also with --yes");
}

}  // namespace

void add_dlq(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "dlq", "Dead letters: list them, send them again, or discard them (a dry run first)");
    command->require_subcommand(1);
    const auto add = [&](const char* name, const char* text, int (*work)(const DlqOptions&)) {
        auto options = std::make_shared<DlqOptions>();
        CLI::App* subcommand = add_operator_command(*command, commands, name, text, options, work);
        add_group_option(*subcommand, *options);
        add_json_flag(*subcommand, *options);
        subcommand->footer("Exit codes: 0 shown, planned or done, 3 no dead letter matches.");
        return std::pair(subcommand, options);
    };
    const auto [listed, list_options] = add("list", "Dead letters that are open", list);
    list_options->states = {"open", "redriving"};
    add_filters(*listed, *list_options, false);
    const auto [shown, show_options] = add("show", "One dead letter, with its payload", show);
    shown->add_option("number", show_options->number, "Its number in `dlq list`")->required();
    shown->add_option("--topic", show_options->topic, "Its topic, where there are several servers");
    const auto [again, redrive_options] =
        add("redrive", "Send dead letters to their topic again, under their keys", redrive_letters);
    add_filters(*again, *redrive_options, true);
    again->add_option("--rate", redrive_options->rate, "Records a second at most")
        ->check(CLI::PositiveNumber);
    again
        ->add_option("--max-tries", redrive_options->tries_max,
                     "A message that was sent again this often stays")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    again->add_flag("--may-repeat", redrive_options->may_repeat,
                    "Also letters that dedup cannot check: keyed by their offset, or older than "
                    "the ledger's claims");
    const auto [gone, discard_options] =
        add("discard", "Delete dead letters, with the reason written down", discard);
    add_filters(*gone, *discard_options, true);
    add_reason(*gone, discard_options->reason, "discarded_dead_letters");
}

}  // namespace onceward
