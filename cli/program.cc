#include "cli/program.h"

#include <exception>
#include <iostream>
#include <streambuf>
#include <vector>

#include "cli/configuration/load.h"
#include "cli/terminal/command.h"
#include "cli/terminal/command_line.h"
#include "dedup/base/nearest_name.h"
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

// If an unknown command was given: a sentence with the nearest one; else ''.
// CLI11 itself says only that a subcommand is required.
std::string unknown_command(const CLI::App& program, int argument_count, char** arguments) {
    const CLI::App* app = &program;
    for (int i = 1; i < argument_count; ++i) {
        const std::string word = arguments[i];
        if (app->get_require_subcommand_min() == 0 || word.starts_with('-')) return "";
        std::vector<std::string> names;
        const CLI::App* next = nullptr;
        for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
            names.push_back(command->get_name());
            if (command->get_name() == word) next = command;
        }
        if (next == nullptr) {
            const std::string of = app == &program ? "" : " of `" + app->get_name() + "`";
            const std::string hint = did_you_mean(word, names);
            return program.get_name() + ": there is no command `" + word + "`" + of +
                   (hint.empty() ? ". See --help." : hint);
        }
        app = next;
    }
    return "";
}

int run(const ProgramText& text, void (*add)(CLI::App&, Commands&), int argument_count,
        char** arguments) {
    CLI::App program{text.description, text.name};
    program.require_subcommand(1);
    program.set_version_flag("--version", text.name + " " + text.version);
    program.get_formatter()->column_width(36);
    Commands commands;
    add(program, commands);
    try {
        program.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
        const std::string unknown = unknown_command(program, argument_count, arguments);
        if (error.get_exit_code() != 0 && !unknown.empty()) {
            std::cerr << unknown << "\n";
            return exit_usage;
        }
        // 0 for --help and --version, which are 'errors' for CLI11.
        return program.exit(error) == 0 ? exit_ok : exit_usage;
    }
    try {
        return commands.run();
    } catch (const ConfigurationError& error) {
        std::cerr << error.what() << '\n';
        return exit_config;
    } catch (const std::exception& error) {
        std::cerr << text.name << ": " << error.what() << '\n';
        return exit_failure;
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
