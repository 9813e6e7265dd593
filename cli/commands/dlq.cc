// `onceward dlq`: dead letters, by hand: seen, sent to their topic again, or discarded.

#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/configuration/units.h"
#include "cli/dlq/redrive.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/output.h"
#include "cli/terminal/stop_request.h"
#include "dedup/base/text.h"
#include "schemas/queries.h"
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

constexpr std::size_t widest_cell = 200;  // bytes of a key or a reason in a table

struct DlqOptions : OperatorOptions {
    DeadLetterFilter filter{.limit = 1000};
    RedriveRules rules;
    std::string since;
    std::string until;
    std::int64_t number = 0;
    std::optional<double> rate;
    bool dry_run = false;

    bool really() const { return yes && !dry_run; }
};

std::optional<std::chrono::milliseconds> time_of(const char* option, const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto now = since_1970<std::chrono::milliseconds>();
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

// `states`: those that are meant if none is named.
DeadLetterFilter filter_of(const DlqOptions& options, const OperatorSetup& setup,
                           const std::vector<std::string>& states) {
    DeadLetterFilter filter = options.filter;
    filter.group = group_of(setup, options.group);
    filter.topic = options.topic;
    filter.since = time_of("--since", options.since);
    filter.until = time_of("--until", options.until);
    if (filter.states.empty()) filter.states = states;
    if (std::ranges::find(filter.states, "all") != filter.states.end()) {
        filter.states = {"open", "redriving", "redriven", "resolved"};
    }
    return filter;
}

int list(const DlqOptions& options) {
    Collected found = collect(
        operator_setups(options, "dlq list", options.topic), [&](const OperatorSetup& setup) {
            Connection connection = reading_session(setup);
            nlohmann::json letters = nlohmann::json::array();
            for (const Letter& letter :
                 select_letters(connection, filter_of(options, setup, {"open", "redriving"}))) {
                letters.push_back(to_json(letter));
            }
            return letters;
        });
    if (options.json) {
        print_json(found.rows);
    } else if (found.rows.empty()) {
        std::cout << "no dead letter matches\n";
    } else {
        for (nlohmann::json& row : found.rows) {
            row["key"] = safe_value(json_text(row["key"]), widest_cell);
            row["reason"] = safe_value(json_text(row["reason"]), widest_cell);
        }
        print_table({"number", "topic", "partition", "offset", "class", "sqlstate", "at=created_at",
                     "state", "redrives", "key", "reason"},
                    found.rows);
    }
    return found.code_or_not_found();
}

int show(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq show", options.topic);
    Connection connection = reading_session(setup);
    const DeadLetterFilter filter{
        .group = group_of(setup, options.group), .numbers = {options.number}, .limit = 1};
    const std::vector<Letter> letters = select_letters(connection, filter);
    const std::vector<DeadLetterRecord> records = read_records(connection, filter.numbers);
    if (letters.empty() || records.empty()) {
        warn("group " + filter.group + " has no dead letter " + std::to_string(options.number));
        return exit_not_found;
    }
    const nlohmann::json json = to_json(letters.front(), records.front());
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
    if (json.contains("first_places")) {
        std::cout << "first message: " << places_text(json["first_places"]) << '\n';
    }
    for (const auto& header : json["headers"]) {
        std::cout << filled(
            header["value"].is_null() ? "header {name}: null\n" : "header {name}: {value}\n",
            header);
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
    warn_if(plan.exhausted > 0,
            std::to_string(plan.exhausted) + " were sent again " +
                std::to_string(options.rules.tries_max) +
                " times or more and stay; fix the cause, then raise --max-tries");
    warn_if(plan.forgotten > 0,
            std::to_string(plan.forgotten) +
                " were sent or resolved before the claims of their ledger begin: what was applied "
                "then could be applied a SECOND time. They stay; --may-repeat sends them");
    warn_if(plan.uncertain > plan.forgotten,
            std::to_string(plan.uncertain - plan.forgotten) +
                " may be in the log already or applied, and their keys are made of their offsets "
                "there: another copy could be applied a SECOND time. They stay; --may-repeat "
                "sends them");
    warn_if(plan.behind > 0, std::to_string(plan.behind) +
                                 " have the record key of one that stays, so they stay too");
}

int run_redrive(const DlqOptions& options, Connection& connection, const RedrivePlan& plan,
                const OperatorSetup& setup, bool by_key) {
    const StopRequest stop;
    const RedriveReport report = redrive(connection, plan.letters,
                                         {.producer = producer_options(setup.configuration->kafka),
                                          .topic = options.topic,
                                          .rate = options.rate,
                                          .by_key = by_key,
                                          .stopped = stop_requested});
    const auto all = static_cast<std::int64_t>(plan.letters.size());
    print_answer(options.json,
                 {{"picked", all},
                  {"delivered", report.delivered},
                  {"exhausted", plan.exhausted},
                  {"uncertain", plan.uncertain},
                  {"behind", plan.behind},
                  {"reopened", report.reopened},
                  {"done", report.delivered == all}},
                 "sent again {delivered} of {picked}\n");
    if (report.delivered == all) return exit_ok;
    const std::int64_t marked = all - report.delivered - report.reopened;
    warn_if(marked > 0,
            std::to_string(marked) + " stay marked as redriving; the next redrive sends them");
    warn_if(report.reopened > 0,
            std::to_string(report.reopened) + " were not sent, and are open as before");
    warn_if(!report.first_failure.empty(), "Kafka says: " + report.first_failure);
    return stop_requested() ? exit_interrupted : exit_failure;
}

int redrive_letters(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq redrive", options.topic);
    const Configuration& configuration =
        configuration_of(setup, "the brokers are needed: give a configuration with -c");
    const TopicConfiguration& topic = topic_named(configuration, options.topic);
    const DeadLetterFilter filter = filter_of(options, setup, {"open", "redriving"});
    Connection connection = writing_session(setup);
    // Take this lock first: letters found marked after it belong to no running redrive.
    if (options.really() && !lock_redrives(connection, filter.group, filter.topic)) {
        throw std::runtime_error("another redrive of topic " + options.topic + " is under way");
    }
    RedriveRules rules = options.rules;
    rules.by_key = topic.reject.order == RejectPolicy::Order::by_key;
    rules.keys_are_places = keys_are_places(topic.key);
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
    nlohmann::json letters = nlohmann::json::array();
    for (const Letter& letter : plan.letters) letters.push_back(to_json(letter));
    print_answer(options.json,
                 {{"picked", plan.letters.size()},
                  {"exhausted", plan.exhausted},
                  {"uncertain", plan.uncertain},
                  {"behind", plan.behind},
                  {"letters", letters},
                  {"done", false}},
                 "would send again {picked} to " + options.topic +
                     "\nnothing was changed; do it with --yes\n");
    return exit_ok;
}

int discard(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq discard", options.topic);
    const DeadLetterFilter filter = filter_of(options, setup, {"open"});
    Connection connection = writing_session(setup);
    const std::vector<std::int64_t> numbers = numbers_of(select_letters(connection, filter));
    std::int64_t gone = 0;
    if (options.really()) {
        gone = connection.query(sql::dlq_discard, Parameters{numbers, options.reason})
                   .integer(0, 0);
    }
    print_answer(options.json,
                 {{"picked", numbers.size()}, {"discarded", gone}, {"done", options.really()}},
                 options.really()
                     ? "discarded {discarded}; discarded_dead_letters says who, when and why\n"
                     : "would discard {picked}, with their payloads\nnothing was changed; do it "
                       "with --yes\n");
    return numbers.empty() ? exit_not_found : exit_ok;
}

void add_filters(CLI::App& command, DlqOptions& options, bool changes) {
    CLI::Option* topic = command.add_option("--topic", options.topic, "Only this topic");
    if (changes) topic->required();
    command
        .add_option("--class", options.filter.classes,
                    "Only these classes: undecodable, missing_key, invalid_key, tombstone, "
                    "unmappable, sink, conflict, `behind`, hot_key, late_key")
        ->check(CLI::IsMember({"undecodable", "missing_key", "invalid_key", "tombstone",
                               "unmappable", "sink", "conflict", "behind", "hot_key",
                               "late_key"}));
    command.add_option("--since", options.since,
                       "Rejected then or later: 2026-01-31T12:00:00Z, or how long ago, 1h");
    command.add_option("--until", options.until, "Rejected before then");
    command.add_option("--key", options.filter.key,
                       "Only this idempotency key, or this record key");
    command.add_option("--number", options.filter.numbers,
                       "Only these, by the numbers of `dlq list`");
    command
        .add_option("--state", options.filter.states,
                    "open (the default), redriving, redriven, resolved or all")
        ->check(CLI::IsMember({"open", "redriving", "redriven", "resolved", "all"}));
    command.add_option("--limit", options.filter.limit, "At most this many, the oldest first")
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
        ->add_option("--max-tries", redrive_options->rules.tries_max,
                     "A message that was sent again this often stays")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    again->add_flag("--may-repeat", redrive_options->rules.may_repeat,
                    "Also letters that dedup cannot check: keyed by their offset, or older than "
                    "the ledger's claims");
    const auto [gone, discard_options] =
        add("discard", "Delete dead letters, with the reason written down", discard);
    add_filters(*gone, *discard_options, true);
    add_reason(*gone, discard_options->reason, "discarded_dead_letters");
}

}  // namespace onceward
