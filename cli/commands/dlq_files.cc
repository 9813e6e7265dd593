// `onceward dlq export` and `import`: dead letters as lines of JSON.

#include <fstream>
#include <iostream>

#include "cli/commands/dlq_options.h"
#include "cli/dlq/letter_lines.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"

namespace onceward {
namespace {

int export_all(const DlqOptions& options) {
    std::int64_t count = 0;
    const int code = on_each(
        operator_setups(options, "dlq export", options.topic), [&](const OperatorSetup& setup) {
            Connection connection = reading_session(setup);
            count +=
                export_letters(connection, filter_of(options, setup, {"open", "redriving"}),
                               [](const std::string& line) {
                                   // A full disk must not look like the end.
                                   if (!(std::cout << line << '\n')) {
                                       throw std::runtime_error("standard output takes no more");
                                   }
                               });
            if (!std::cout.flush()) throw std::runtime_error("standard output takes no more");
            return exit_ok;
        });
    return code == exit_ok && count == 0 ? exit_not_found : code;
}

int import_file(const DlqOptions& options) {
    const OperatorSetup setup = operator_setup(options, "dlq import", options.topic);
    const std::string group = group_of(setup, options.group);
    std::ifstream file;
    if (options.file != "-") {
        file.open(options.file);
        if (!file) throw std::runtime_error("the file " + options.file + " cannot be read");
    }
    std::istream& lines = options.file == "-" ? std::cin : file;
    Connection connection = writing_session(setup);
    const ImportedLetters done =
        import_letters(connection, lines, group, options.topic, options.really());
    print_answer(options.json,
                 {{"read", done.read},
                  {"added", done.added},
                  {"present", done.present},
                  {"discarded", done.discarded},
                  {"done", options.really()}},
                 options.really()
                     ? "read {read}: {added} are new here, {present} were here, {discarded} had "
                       "been discarded here and stay so\n"
                     : "read {read}: {added} would be new here, {present} are here, {discarded} "
                       "were discarded here\nnothing was changed; do it with --yes\n");
    return done.read == 0 ? exit_not_found : exit_ok;
}

}  // namespace

void add_dlq_files(CLI::App& dlq, Commands& commands) {
    auto out = std::make_shared<DlqOptions>();
    CLI::App* exporting = add_operator_command(
        dlq, commands, "export", "Write dead letters to standard output, a line of JSON each", out,
        export_all);
    add_group_option(*exporting, *out);
    add_json_flag(*exporting, *out);
    add_filters(*exporting, *out, false, "");
    end_help(
        *exporting,
        {.examples = {{"dlq export --topic orders > orders.ndjson", "the open ones, whole"},
                      {"dlq export --state all > all.ndjson", "those that were dealt with too"}},
         .exit_codes = {{exit_ok, "written"}, {exit_not_found, "no dead letter matches"}}});
    auto in = std::make_shared<DlqOptions>();
    CLI::App* importing = add_operator_command(
        dlq, commands, "import",
        "Take in what `dlq export` wrote, none of it twice; a dry run without --yes", in,
        import_file);
    importing->add_option("file", in->file, "The file; `-` for standard input")->required();
    importing->add_option("--topic", in->topic, "All letters have to be of this topic")
        ->type_name("NAME")
        ->check(not_empty("a topic"));
    add_group_option(*importing, *in);
    add_json_flag(*importing, *in);
    add_yes_flag(*importing, *in);
    importing->add_flag("--dry-run", in->dry_run, "Only show what would happen, also with --yes");
    offer_reason(*importing, in->reason, "the audit log");
    end_help(*importing, {.examples = {{"dlq import orders.ndjson", "what would be new here"},
                                       {"dlq import orders.ndjson --yes", "take them in"}},
                          .exit_codes = {{exit_ok, "taken in, or there already; or a dry run"},
                                         {exit_not_found, "the file has no letter"}}});
}

}  // namespace onceward
