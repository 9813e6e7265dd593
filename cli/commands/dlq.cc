// `onceward dlq`: dead letters, by hand: seen, sent to their topic again, or discarded.

#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/commands/dlq_options.h"
#include "cli/composition/registries.h"
#include "cli/dlq/redrive.h"
#include "cli/dlq/redrive_plan.h"
#include "cli/operate/correction.h"
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
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

constexpr std::size_t widest_cell = 200;  // bytes of a key or a reason in a table

// Prints what `select` finds on each server: as JSON, or as a table after `for_people` has made
// each row's values safe to show.
template <class Select, class ForPeople>
int show_rows(const DlqOptions& options, const char* command, Select select, ForPeople for_people,
              const std::vector<std::string>& columns) {
    Collected found =
        collect(operator_setups(options, command, options.topic), [&](const OperatorSetup& setup) {
            Connection connection = reading_session(setup);
            nlohmann::json rows = nlohmann::json::array();
            for (const auto& one :
                 select(connection, filter_of(options, setup, {"open", "redriving"}))) {
                rows.push_back(to_json(one));
            }
            return rows;
        });
    if (options.json) {
        print_json(found.rows);
    } else if (found.rows.empty()) {
        std::cout << "no dead letter matches\n";
    } else {
        for (nlohmann::json& row : found.rows) for_people(row);
        print_table(columns, found.rows);
    }
    return found.code_or_not_found();
}

int list(const DlqOptions& options) {
    return show_rows(options, "dlq list", select_letters,
                     [](nlohmann::json& row) {
                         row["key"] = safe_value(json_text(row["key"]), widest_cell);
                         row["reason"] = safe_value(json_text(row["reason"]), widest_cell);
                     },
                     {"number", "topic", "partition", "offset", "class", "sqlstate",
                      "at=created_at", "state", "redrives", "key", "reason"});
}

int summary(const DlqOptions& options) {
    return show_rows(options, "dlq summary", summarize_letters,
                     [](nlohmann::json& row) {
                         row["column"] =
                             row["column"].is_null() ? "" : safe_value(json_text(row["column"]));
                         row["reason"] = safe_value(json_text(row["reason"]), widest_cell);
                     },
                     {"topic", "class", "sqlstate", "column", "count", "oldest", "newest",
                      "number=newest_number", "reason"});
}

int show(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq show", options.topic);
    Connection connection = reading_session(setup);
    const DeadLetterFilter filter{
        .group = group_of(setup, options.group), .numbers = {options.number}, .limit = 1};
    const std::vector<Letter> letters = select_letters(connection, filter);
    const std::vector<DeadLetterRecord> records = read_records(connection, filter.numbers);
    if (letters.empty() || records.empty()) {
        throw CommandError(
            exit_not_found,
            "group " + filter.group + " has no dead letter " + std::to_string(options.number),
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

// The payload that --payload names, for the one letter; nullopt without --payload.
std::optional<Correction> correction_of(const DlqOptions& options,
                                        const Configuration& configuration,
                                        const TopicConfiguration& topic, const RedriveRules& rules,
                                        Connection& connection) {
    if (options.file.empty()) return std::nullopt;
    const std::vector<std::int64_t>& numbers = options.filter.numbers;
    if (numbers.size() != 1) throw UsageError("--payload is of one letter: name it with --number");
    if (options.reason.empty()) throw UsageError("--payload needs a --reason, for the audit log");
    if (rules.keys_are_places) {
        throw UsageError("a key of topic " + topic.name +
                         " may be made of the message's place, so that a correction would have "
                         "another one");
    }
    std::ifstream file(options.file, std::ios::binary);
    std::ostringstream payload;
    if (!(payload << file.rdbuf())) {
        throw std::runtime_error("the payload " + options.file + " cannot be read, or is empty");
    }
    const std::vector<DeadLetterRecord> records = read_records(connection, numbers);
    if (records.empty()) return std::nullopt;  // no letter matches
    const std::string problem =
        problem_of_correction(configuration.group, topic, records.front(), payload.str(),
                              patient_schemas(configuration, topic));
    if (!problem.empty()) throw std::runtime_error(problem);
    return Correction{numbers.front(), payload.str()};
}

// What was picked, and where it came from.
struct Redriven {
    RedrivePlan plan;
    nlohmann::json from_topic = nullptr;  // what was taken in; null without --from-topic
};

nlohmann::json counts_of(const Redriven& redriven, bool done) {
    nlohmann::json counts{
        {"picked", redriven.plan.letters.size()},       {"exhausted", redriven.plan.exhausted},
        {"uncertain", redriven.plan.uncertain},         {"behind", redriven.plan.behind},
        {"limit_reached", redriven.plan.limit_reached}, {"done", done}};
    if (!redriven.from_topic.is_null()) counts["from_topic"] = redriven.from_topic;
    return counts;
}

int run_redrive(const DlqOptions& options, Connection& connection, const Redriven& redriven,
                const OperatorSetup& setup, bool by_key,
                const std::optional<Correction>& correction) {
    const RedrivePlan& plan = redriven.plan;
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
                 .correction = correction,
                 .stopped = stop_requested,
                 .progress = [&](std::int64_t delivered) { progress.of(delivered, all); }});
    hide_progress();
    nlohmann::json answer = counts_of(redriven, report.delivered == all);
    answer["delivered"] = report.delivered;
    answer["reopened"] = report.reopened;
    answer["left"] = report.left;
    print_answer(options.json, answer, "sent again {delivered} of {picked}\n");
    if (report.delivered == all) return exit_ok;
    warn_if(report.left > 0,
            "left " + std::to_string(report.left) +
                (by_key ? ": they, or other letters of their record keys, changed meanwhile; run "
                          "it again"
                        : ", which somebody has dealt with meanwhile"));
    warn_if(report.marked > 0, std::to_string(report.marked) +
                                   " stay marked as redriving; the next redrive sends them");
    warn_if(report.reopened > 0,
            std::to_string(report.reopened) + " were not sent, and are as they were before");
    warn_if(!report.first_failure.empty(), "Kafka says: " + report.first_failure);
    // With by_key those that are left may be open: one of their record key has changed.
    if (!by_key && report.delivered + report.left == all) return exit_ok;
    return stop_requested() ? exit_interrupted : exit_failure;
}

// Picks the letters to send again: from the table, or from --from-topic. These are then taken into
// the table; a dry run sees them there, but does not commit.
Redriven pick_letters(const DlqOptions& options, const Configuration& configuration,
                      DeadLetterFilter filter, const RedriveRules& rules, Connection& connection) {
    if (options.from_topic.empty()) return {pick_for_redrive(connection, filter, rules)};
    LetterIntake intake(connection, {.group = filter.group,
                                     .topic = filter.topic,
                                     .from = options.from_topic,
                                     .may_repeat = rules.may_repeat,
                                     .limit = filter.limit});
    read_from_topic(options, configuration, filter, intake);
    Redriven redriven{.plan = {}, .from_topic = to_json(intake.taken())};
    filter.numbers = intake.taken().numbers;
    if (filter.numbers.empty()) return redriven;  // DANGER: a filter without numbers picks all
    redriven.plan = pick_for_redrive(connection, filter, rules);
    // It counts all letters that were taken in, also those that stay.
    if (intake.full()) redriven.plan.limit_reached = true;
    if (options.really()) intake.commit();
    return redriven;
}

int redrive_letters(const DlqOptions& options) {
    check_from_topic(options);
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
    const std::optional<Correction> correction =
        correction_of(options, configuration, topic, rules, connection);
    const Redriven redriven = pick_letters(options, configuration, filter, rules, connection);
    const RedrivePlan& plan = redriven.plan;
    tell_what_stays(options, plan);
    if (plan.letters.empty()) {
        print_answer(options.json, counts_of(redriven, false), "there is nothing to send again\n");
        if (!plan.limit_reached) return exit_not_found;
        warn("--limit was reached, and there may be later letters that can go: raise it");
        return exit_failure;
    }
    if (rules.by_key && !options.json) {
        std::cout << "order: by_key: messages in the log under these record keys that are not read "
                     "yet come before the copies\n";
    }
    if (options.really()) {
        return run_redrive(options, connection, redriven, setup, rules.by_key, correction);
    }
    nlohmann::json letters = nlohmann::json::array();
    for (const Letter& letter : plan.letters) letters.push_back(to_json(letter));
    nlohmann::json answer = counts_of(redriven, false);
    answer["letters"] = std::move(letters);
    print_answer(options.json, answer,
                 "would send again {picked} to " + options.topic +
                     "\nnothing was changed; do it with --yes\n");
    return exit_ok;
}

int discard(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq discard", options.topic);
    const DeadLetterFilter filter = filter_of(options, setup, {"open"});
    Connection connection = writing_session(setup);
    const std::vector<Letter> letters = select_letters(connection, filter);
    const auto picked = static_cast<std::int64_t>(letters.size());
    const std::int64_t gone =
        options.really() ? discard_unchanged(connection, letters, options.reason) : 0;
    const std::int64_t left = options.really() ? picked - gone : 0;
    print_answer(
        options.json,
        {{"picked", picked}, {"discarded", gone}, {"left", left}, {"done", options.really()}},
        options.really() ? "discarded {discarded}; discarded_dead_letters says who, when and why\n"
                         : "would discard {picked}, with their payloads\nnothing was changed; do "
                           "it with --yes\n");
    warn_if(left > 0, "left " + std::to_string(left) +
                          ", which a redrive or somebody else has dealt with meanwhile");
    return letters.empty() ? exit_not_found : exit_ok;
}

void add_redrive_options(CLI::App& command, DlqOptions& options) {
    command.add_option("--rate", options.rate, "Records a second at most")
        ->check(number_above(0))
        ->type_name("NUMBER");
    command
        .add_option("--max-tries", options.rules.tries_max,
                    "Leave a message that was sent again this often already")
        ->capture_default_str()
        ->check(whole_number(1))
        ->type_name("N");
    command.add_flag("--may-repeat", options.rules.may_repeat,
                     "Also letters that dedup cannot check: keyed by their offset, older than the "
                     "ledger's claims, or in a topic, of a message that the group has read itself");
    command
        .add_option("--payload", options.file,
                    "Send this file's bytes in place of the payload of the one letter of --number, "
                    "under the same key; needs --reason")
        ->type_name("FILE")
        ->check(not_empty("a file"));
    command
        .add_option("--from-topic", options.from_topic,
                    "First take in the letters of this topic of dead letters, which Onceward, "
                    "Kafka Connect or Spring wrote, and send those of --topic; not with --class, "
                    "--key, --since, --until, --number or --payload")
        ->type_name("TOPIC")
        ->check(not_empty("a topic"));
    offer_reason(command, options.reason, "the audit log");
}

}  // namespace

void add_dlq(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "dlq", "List and count dead letters, send them again, discard or carry them");
    command->require_subcommand(1);
    using Examples = std::vector<std::pair<std::string, std::string>>;
    const auto add = [&](const char* name, const char* text, int (*work)(const DlqOptions&),
                         Examples examples, const char* failure = "it failed") {
        auto options = std::make_shared<DlqOptions>();
        CLI::App* subcommand = add_operator_command(*command, commands, name, text, options, work);
        add_group_option(*subcommand, *options);
        add_json_flag(*subcommand, *options);
        end_help(*subcommand,
                 {.examples = std::move(examples),
                  .exit_codes = {{exit_ok, "shown, planned or done"},
                                 {exit_failure, failure},
                                 {exit_not_found, "no dead letter matches"},
                                 {exit_interrupted, "interrupted; run it again to continue"}}});
        return std::pair(subcommand, options);
    };
    const auto [listed, list_options] =
        add("list", "List dead letters, the open ones by default", list,
            {{"dlq list --since 1h", "what was rejected in the last hour"},
             {"dlq list --class sink --json", "those that the database refused, for programs"}});
    add_filters(*listed, *list_options, false);
    const auto [summed, summary_options] =
        add("summary", "Count dead letters by class, column and reason, with the oldest and newest",
            summary,
            {{"dlq summary", "the causes of all open dead letters, the most frequent first"},
             {"dlq summary --topic orders --since 1d --json", "those of a day, for programs"}});
    add_filters(*summed, *summary_options, false, "At most this many rows");
    const auto [shown, show_options] = add("show", "Show one dead letter, with its payload", show,
                                           {{"dlq show 42", "number 42 of `dlq list`"}});
    shown->add_option("number", show_options->number, "Its number in `dlq list`")
        ->required()
        ->check(whole_number(1));
    shown
        ->add_option("--topic", show_options->topic,
                     "Its topic; needed if there are several PostgreSQL servers")
        ->type_name("NAME")
        ->check(not_empty("a topic"));
    const auto [again, redrive_options] = add(
        "redrive",
        "Send dead letters to their topic again, under their keys; a dry run without --yes",
        redrive_letters,
        {{"dlq redrive --topic orders", "what would be sent"},
         {"dlq redrive --topic orders --class sink --yes --rate 100", "send those, 100 a second"},
         {"dlq redrive --topic orders --from-topic orders.dlt --yes",
          "send what the topic orders.dlt has of it"}},
        "it failed, letters that were to be sent are still open, or --limit was reached before one "
        "that can go");
    add_filters(*again, *redrive_options, true);
    add_redrive_options(*again, *redrive_options);
    const auto [gone, discard_options] =
        add("discard", "Delete dead letters, with the reason written down; a dry run without --yes",
            discard,
            {{"dlq discard --topic orders --number 42 --reason 'a test message' --yes",
              "delete number 42"}});
    add_filters(*gone, *discard_options, true);
    add_reason(*gone, discard_options->reason, "discarded_dead_letters");
    add_dlq_files(*command, commands);
}

}  // namespace onceward
