// `onceward dlq`: dead letters, by hand: seen, sent to their topic again, or discarded.

#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/dlq/redrive.h"
#include "cli/operate/redrive_rules.h"
#include "cli/operator/operator_options.h"
#include "cli/operator/time_option.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
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

// `states`: those that are meant if none is named.
DeadLetterFilter filter_of(const DlqOptions& options, const OperatorSetup& setup,
                           const std::vector<std::string>& states) {
    DeadLetterFilter filter = options.filter;
    filter.group = group_of(setup, options.group);
    filter.topic = options.topic;
    filter.since = moment_of(options.since);
    filter.until = moment_of(options.until);
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
        throw CommandError(exit_not_found, "group " + filter.group + " has no dead letter " +
                                               std::to_string(options.number),
                           "`onceward dlq list --state all` lists their numbers");
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
    const auto all = static_cast<std::int64_t>(plan.letters.size());
    Progress progress("dlq redrive", "dead letters");
    const RedriveReport report =
        redrive(connection, plan.letters,
                {.producer = producer_options(setup.configuration->kafka),
                 .topic = options.topic,
                 .group = group_of(setup, options.group),
                 .rate = options.rate,
                 .by_key = by_key,
                 .stopped = stop_requested,
                 .progress = [&](std::int64_t delivered) { progress.of(delivered, all); }});
    hide_progress();
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
    const RedriveRules rules = rules_for(options.rules, topic);
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
    CLI::Option* topic =
        command.add_option("--topic", options.topic, "Only this topic")->type_name("NAME");
    if (changes) topic->required();
    command
        .add_option("--class", options.filter.classes, "Only those that were rejected for this")
        ->type_name("CLASS")
        ->check(one_of({"undecodable", "missing_key", "invalid_key", "tombstone", "unmappable",
                        "sink", "conflict", "behind", "hot_key", "late_key", "unknown_schema"}));
    command
        .add_option("--since", options.since,
                    std::string("Rejected then or later: ") + moment_forms)
        ->type_name("TIME")
        ->check(moment_check());
    command.add_option("--until", options.until, "Rejected before then; as --since")
        ->type_name("TIME")
        ->check(moment_check());
    command.add_option("--key", options.filter.key,
                       "Only this idempotency key, or this record key");
    command
        .add_option("--number", options.filter.numbers, "Only these, by the numbers of `dlq list`")
        ->type_name("N")
        ->check(whole_number(1));
    command
        .add_option("--state", options.filter.states,
                    "Only those in this state; default: the ones that are open, or are sent again "
                    "by a redrive that has not ended")
        ->type_name("STATE")
        ->check(one_of({"open", "redriving", "redriven", "resolved", "all"}));
    command.add_option("--limit", options.filter.limit, "At most this many, the oldest first")
        ->capture_default_str()
        ->check(whole_number(1))
        ->type_name("N");
    if (!changes) return;
    add_yes_flag(command, options);
    command.add_flag("--dry-run", options.dry_run, "Only show what would happen, also with --yes");
}

}  // namespace

void add_dlq(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "dlq", "List dead letters, send them again, or discard them");
    command->require_subcommand(1);
    using Examples = std::vector<std::pair<std::string, std::string>>;
    const auto add = [&](const char* name, const char* text, int (*work)(const DlqOptions&),
                         Examples examples) {
        auto options = std::make_shared<DlqOptions>();
        CLI::App* subcommand = add_operator_command(*command, commands, name, text, options, work);
        add_group_option(*subcommand, *options);
        add_json_flag(*subcommand, *options);
        end_help(*subcommand,
                 {.examples = std::move(examples),
                  .exit_codes = {{exit_ok, "shown, planned or done"},
                                 {exit_not_found, "no dead letter matches"},
                                 {exit_interrupted, "interrupted; run it again to continue"}}});
        return std::pair(subcommand, options);
    };
    const auto [listed, list_options] =
        add("list", "List dead letters, the open ones by default", list,
            {{"dlq list --since 1h", "what was rejected in the last hour"},
             {"dlq list --class sink --json", "those that the database refused, for programs"}});
    add_filters(*listed, *list_options, false);
    const auto [shown, show_options] = add("show", "Show one dead letter, with its payload", show,
                                           {{"dlq show 42", "number 42 of `dlq list`"}});
    shown->add_option("number", show_options->number, "Its number in `dlq list`")
        ->required()
        ->check(whole_number(1));
    shown
        ->add_option("--topic", show_options->topic,
                     "Its topic; needed if there are several PostgreSQL servers")
        ->type_name("NAME");
    const auto [again, redrive_options] =
        add("redrive",
            "Send dead letters to their topic again, under their keys; a dry run without --yes",
            redrive_letters,
            {{"dlq redrive --topic orders", "what would be sent"},
             {"dlq redrive --topic orders --class sink --yes --rate 100",
              "send those, 100 a second"}});
    add_filters(*again, *redrive_options, true);
    again->add_option("--rate", redrive_options->rate, "Records a second at most")
        ->check(number_above(0))
        ->type_name("NUMBER");
    again
        ->add_option("--max-tries", redrive_options->rules.tries_max,
                     "Leave a message that was sent again this often already")
        ->capture_default_str()
        ->check(whole_number(1))
        ->type_name("N");
    again->add_flag("--may-repeat", redrive_options->rules.may_repeat,
                    "Also letters that dedup cannot check: keyed by their offset, or older than "
                    "the ledger's claims");
    offer_reason(*again, redrive_options->reason, "the audit log");
    const auto [gone, discard_options] =
        add("discard",
            "Delete dead letters, with the reason written down; a dry run without --yes", discard,
            {{"dlq discard --topic orders --number 42 --reason 'a test message' --yes",
              "delete number 42"}});
    add_filters(*gone, *discard_options, true);
    add_reason(*gone, discard_options->reason, "discarded_dead_letters");
}

}  // namespace onceward
