// `onceward ledger convert`: a `table` ledger becomes a log, while its workers run.

#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/size/figures.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/output.h"
#include "cli/terminal/quantities.h"
#include "dedup/retention/conversion.h"

namespace onceward {
namespace {

struct LedgerArguments : OperatorOptions {
    std::string to;
};

const LedgerOptions& configured_ledger(const OperatorSetup& setup, const std::string& name) {
    const Configuration& configuration = configuration_of(
        setup, "the configuration says whether the ledger's workers take a log: give it with -c");
    const auto ledger = configuration.ledgers.find(name);
    usage_error_if(ledger == configuration.ledgers.end(),
                   "no topic of the configuration has a ledger " + name);
    return ledger->second;
}

// The workers of this configuration must accept the store that the ledger will have.
void require_automatic(const LedgerOptions& ledger) {
    if (ledger.store == StoreKind::log) return;
    throw CommandError(exit_failure,
                       "by the configuration ledger " + ledger.name + " is a `" +
                           std::string(to_text(ledger.store)) + "`, so its topics would halt",
                       "if it says `store: table`, remove `store` or write `store: auto`, restart "
                       "the workers, and say this again; a topic with `key.minted_at`, `results` "
                       "or `reply` needs a table");
}

nlohmann::json plan_json(const LedgerArguments& arguments, const ConversionPlan& plan) {
    std::int64_t ready = 0;
    std::int64_t ready_claims = 0;
    std::int64_t bytes = 0;
    for (const ConversionPlan::Generation& generation : plan.generations) {
        ready += generation.claims ? 1 : 0;
        ready_claims += generation.claims.value_or(0);
        bytes += generation.bytes;
    }
    const auto disk = static_cast<double>(plan.claims - ready_claims) * figures::log_disk.value;
    return {{"ledger", arguments.ledger},
            {"store", plan.is_log ? "log" : "table"},
            {"fed_by", plan.fed_by},
            {"generations", plan.generations.size()},
            {"ready", ready},
            {"claims", plan.claims},
            {"open_claims", plan.open_claims},
            {"table_bytes", bytes},
            {"more_bytes", static_cast<std::int64_t>(disk)}};
}

void print_plan(const nlohmann::json& plan) {
    if (plan["store"] == "log") {
        std::cout << filled("ledger {ledger} is a log\n", plan);
        return;
    }
    std::cout << filled(
                     "ledger {ledger}, fed by {fed_by}\n"
                     "  {claims} claims in {generations} generations, of which {ready} are "
                     "ready as segments\n",
                     plan)
              << "  tables: " << bytes_text(plan["table_bytes"].get<double>())
              << ", dropped at the end; about " << bytes_text(plan["more_bytes"].get<double>())
              << " more until then (with fingerprints, two thirds more than that)\n";
}

// Each step is a line, on standard error if the answer is JSON.
void note_step(std::ostream& out, ConversionStep step, std::int64_t generation,
               std::int64_t claims) {
    const std::string of = "generation " + std::to_string(generation) + ": ";
    const std::string many = count_text(static_cast<double>(claims)) + " claims";
    switch (step) {
        case ConversionStep::tables_made: out << of << "begun"; break;
        case ConversionStep::part_written: out << of << many << " written"; break;
        case ConversionStep::segment_ready: out << of << "ready, with " << many; break;
        case ConversionStep::rotated: out << of << "sealed, with " << many; break;
        case ConversionStep::switching: out << "switching, with " << many << " to convert"; break;
        case ConversionStep::switched: out << "switched"; break;
    }
    out << std::endl;
}

int convert(const LedgerArguments& arguments) {
    const OperatorSetup setup = operator_setup(arguments, "ledger");
    const LedgerOptions& configured = configured_ledger(setup, arguments.ledger);
    Connection connection = writing_session(setup);
    try {
        const nlohmann::json plan =
            plan_json(arguments, plan_conversion(connection, arguments.ledger));
        require_automatic(configured);
        const bool is_log = plan["store"] == "log";
        if (!arguments.yes || is_log) {
            // A run that was killed after the switch may have left out a filter.
            if (arguments.yes) convert_to_log(connection, arguments.ledger);
            if (arguments.json) {
                print_json(plan);
            } else {
                print_plan(plan);
                if (!is_log) std::cout << "nothing was changed; do it with --yes\n";
            }
            return exit_ok;
        }
        if (!arguments.json) print_plan(plan);
        std::ostream& out = arguments.json ? std::cerr : std::cout;
        const ConversionReport report = convert_to_log(
            connection, arguments.ledger,
            {.reached = [&](ConversionStep step, std::int64_t generation, std::int64_t claims) {
                note_step(out, step, generation, claims);
            }});
        print_answer(arguments.json,
                     {{"ledger", arguments.ledger},
                      {"store", "log"},
                      {"segments", report.segments},
                      {"claims", report.claims},
                      {"waited_ms", report.waited.count()}},
                     "ledger {ledger} is a log: {claims} claims, {segments} segments; claims "
                     "waited for {waited_ms} ms at most\n");
        return exit_ok;
    } catch (const ConversionRefused& refused) {
        throw CommandError(exit_failure, refused.what());
    }
}

}  // namespace

void add_ledger(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("ledger", "Change a ledger's store");
    command->require_subcommand(1);
    auto arguments = std::make_shared<LedgerArguments>();
    CLI::App* converting = add_operator_command(
        *command, commands, "convert",
        "Make a log of a `table` ledger while its workers run (a dry run first)", arguments,
        convert);
    converting->add_option("ledger", arguments->ledger, "The ledger's name")
        ->required()
        ->type_name("NAME");
    converting->add_option("--to", arguments->to, "The store that it gets; only `log` yet")
        ->required()
        ->check(CLI::IsMember({"log"}));
    offer_reason(*converting, arguments->reason, "the audit log");
    add_yes_flag(*converting, *arguments);
    add_json_flag(*converting, *arguments);
    end_help(*converting,
             {.notes = "Run it as the schema's owner. Its topics write `store: auto`, and the "
                       "workers run with that. It may be interrupted; the next run continues.",
              .examples = {{"ledger convert billing/orders --to log",
                            "what it would do, claims and disk"},
                           {"ledger convert billing/orders --to log --yes", "do it"}},
              .exit_codes = {{exit_ok, "the ledger is a log, or it was a dry run"},
                             {exit_failure, "it cannot be converted, or not now"}}});
}

}  // namespace onceward
