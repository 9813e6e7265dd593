#include "cli/program.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <vector>

#include "cli/error_report.h"
#include "cli/parse_failure.h"
#include "cli/terminal/command.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/help.h"
#include "cli/terminal/output.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

// While it lives, all that is written to the stream has its control characters escaped
// (dedup/base/text.h): the last line of defence for commands that print what came from
// outside. Line breaks stay; within a value the command itself escapes them, by safe_value().
class SafeStream final : public std::streambuf {
  public:
    explicit SafeStream(std::ostream& stream) : stream_(stream), target_(stream.rdbuf(this)) {}
    ~SafeStream() override {
        SafeStream::sync();
        stream_.rdbuf(target_);
    }
    SafeStream(const SafeStream&) = delete;
    SafeStream& operator=(const SafeStream&) = delete;

  protected:
    int_type overflow(int_type character) override {
        if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(0);
        const char byte = traits_type::to_char_type(character);
        return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
    }
    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
        pending_.append(bytes, static_cast<std::size_t>(count));
        return write(pending_.size() - incomplete_tail(pending_)) ? count : 0;
    }
    int sync() override { return write(pending_.size()) ? target_->pubsync() : -1; }

  private:
    bool write(std::size_t bytes) {
        const std::string text =
            safe_text(std::string_view(pending_).substr(0, bytes), LineBreaks::kept);
        pending_.erase(0, bytes);
        const auto size = static_cast<std::streamsize>(text.size());
        return target_->sputn(text.data(), size) == size;
    }

    std::ostream& stream_;
    std::streambuf* target_;
    std::string pending_;
};

// Whether messages are for a program. Found before CLI11 reads the line, since an error in the line
// is a message too.
bool json_asked(const std::vector<std::string>& arguments) {
    const auto end = std::ranges::find(arguments, "--");
    return std::find(arguments.begin(), end, "--json") != end;
}

struct HelpOptions {
    std::vector<std::string> words;
    bool json = false;
};

int show_help(const CLI::App& program, const HelpOptions& options) {
    if (const auto unknown = unknown_command(program, options.words)) throw *unknown;
    const CLI::App* app = &program;
    for (const std::string& word : options.words) app = app->get_subcommand(word);
    if (options.json) {
        print_json(help_json(*app));
    } else {
        // App::help() would show the help of this command.
        std::cout << HelpFormatter().make_help(app, "", CLI::AppFormatMode::Normal);
    }
    return exit_ok;
}

void add_help_and_version(CLI::App& program, Commands& commands, const ProgramText& text) {
    auto help = std::make_shared<HelpOptions>();
    CLI::App& shown = *program.add_subcommand("help", "Show what a command does, and its options");
    // Listed by the text at the end of the program's help.
    shown.group("");
    shown.add_option("command", help->words, "The command; none: all of them");
    shown.add_flag("--json", help->json, "Print commands and options as JSON");
    end_help(shown, {.examples = {{"help", "all commands"}, {"help dlq redrive", "one of them"}}});
    commands.add(shown, [&program, help] { return show_help(program, *help); });

    auto json = std::make_shared<bool>(false);
    CLI::App& version = *program.add_subcommand("version", "Show the program's version");
    version.group("");
    version.add_flag("--json", *json, "Print JSON");
    end_help(version, {.examples = {{"version", "for a report of a defect"}}});
    commands.add(version, [text, json] {
        print_answer(*json, {{"name", text.name}, {"version", text.version}}, "{name} {version}\n");
        return static_cast<int>(exit_ok);
    });
}

// Each command takes --json: errors are reported in that form, no matter what the command prints.
void add_json_flags(CLI::App& app) {
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        add_json_flags(*command);
        if (command->get_option_no_throw("--json") != nullptr) continue;
        command->add_flag_callback("--json", [] {}, "Errors and messages as JSON, one a line");
    }
}

std::string command_name(const CLI::App& program) {
    const CLI::App* app = &program;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
    return full_name(*app);
}

int failed(const CLI::App& program, const std::exception& error) {
    const ErrorReport report = describe_error(error);
    print_error(command_name(program), report);
    return report.exit;
}

int run(const ProgramText& text, void (*add)(CLI::App&, Commands&), int argument_count,
        char** arguments) {
    CLI::App program{text.description, text.name};
    program.formatter(std::make_shared<HelpFormatter>());
    program.set_help_flag("-h,--help", "Show this help");
    program.set_version_flag("--version", text.name + " " + text.version, "Show the version");
    program.require_subcommand(1);
    Commands commands;
    add(program, commands);
    add_help_and_version(program, commands, text);
    add_json_flags(program);
    // Last: commands that are added inherit it.
    program.footer("`" + text.name +
                   " help COMMAND` shows what a command does, its options and examples.\n`" +
                   text.name + " version` shows the version.");
    const std::vector<std::string> words(arguments + 1, arguments + argument_count);
    write_messages_as_json(json_asked(words));
    try {
        if (words.empty()) return show_help(program, {});
        if (const auto unknown = unknown_command(program, words)) throw *unknown;
        program.parse(argument_count, arguments);
        return commands.run();
    } catch (const CLI::Success& success) {  // --help, --version
        return program.exit(success);
    } catch (const CLI::ParseError& error) {
        return failed(program, usage_error_of(program, error));
    } catch (const std::exception& error) {
        return failed(program, error);
    }
}

}  // namespace

int run_program(const ProgramText& text, void (*add)(CLI::App&, Commands&), int argument_count,
                char** arguments) {
    remember_command_line(argument_count, arguments);
    const SafeStream safe_output(std::cout);
    const SafeStream safe_errors(std::cerr);
    try {
        return run(text, add, argument_count, arguments);
    } catch (const std::exception& error) {
        std::cerr << text.name << ": " << error.what() << '\n';
        return exit_software;
    }
}

}  // namespace onceward
