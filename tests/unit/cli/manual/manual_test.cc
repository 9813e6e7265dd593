// Manual pages and completions: of every command, and as a shell reads them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/commands/commands.h"
#include "cli/manual/command_tree.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/terminal/command.h"
#include "lab/embedded/child_process.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

CommandText onceward_commands() {
    CLI::App program{"Consumes.", "onceward"};
    Commands commands;
    add_all_commands(program, commands);
    return command_tree(program);
}

// A small program whose words the tests know.
struct SampleProgram {
    SampleProgram() {
        program.require_subcommand(1);
        CLI::App& mail = *program.add_subcommand("mail", "Mail: 'all' of it [now]");
        mail.add_option("-c,--config", file, "The file")->capture_default_str();
        CLI::App& send = *mail.add_subcommand("send", "Send it");
        send.add_option("kind", kind, "Its kind")
            ->required()
            ->check(CLI::IsMember({"letter", "card"}));
        send.add_option("--colour", colour, "Its colour")->check(CLI::IsMember({"red", "blue"}));
        send.add_flag("--yes", yes, "Do it");
        program.add_subcommand("secret", "Hidden")->group("");
    }
    CommandText tree() const { return command_tree(program); }
    CLI::App program{"A sample.", "onceward"};
    std::string file = "x.yaml";
    std::string kind;
    std::string colour;
    bool yes = false;
};

// What bash offers for the last word of `words`.
std::string bash_offers(const std::string& words) {
    const fs::path folder = fs::temp_directory_path() / support::unique_name("completion");
    fs::create_directories(folder);
    std::ofstream(folder / "script") << bash_completion(SampleProgram().tree());
    std::ofstream(folder / "ask") << "source ./script\nCOMP_WORDS=(" << words
                                  << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_onceward\n"
                                     "echo \"${COMPREPLY[*]}\"\n";
    run_to_end({.command = {"bash", "--norc", "ask"},
                .environment = {},
                .output = folder / "answer",
                .folder = folder,
                .identity = {}},
               std::chrono::seconds(30));
    std::string answer;
    std::getline(std::ifstream(folder / "answer"), answer);
    fs::remove_all(folder);
    return answer;
}

// The program's own checks say their words as CLI11's do.
TEST(Completion, HasTheOnlyValuesThatAnOptionOfTheProgramTakes) {
    const CommandText program = onceward_commands();
    std::vector<std::string> formats;
    for (const CommandText* command : all_commands(program)) {
        if (command->words() != "onceward produce") continue;
        for (const OptionText& option : command->options) {
            if (std::ranges::find(option.names, "--format") != option.names.end()) {
                formats = option.choices;
            }
        }
    }
    EXPECT_THAT(formats, testing::ElementsAre("json", "protobuf"));
}

TEST(Completion, OffersInBashWhatFitsThePlace) {
    EXPECT_EQ(bash_offers("onceward ''"), "mail -h --help");
    EXPECT_EQ(bash_offers("onceward m"), "mail");
    EXPECT_EQ(bash_offers("onceward mail s"), "send");
    EXPECT_EQ(bash_offers("onceward mail send --c"), "--colour");
    EXPECT_EQ(bash_offers("onceward mail send c"), "card");
    EXPECT_EQ(bash_offers("onceward mail send --colour ''"), "red blue");
    EXPECT_EQ(bash_offers("onceward mail -c scr"), "script") << "a file's name";
}

TEST(Completion, KnowsEveryCommandAndOptionInEveryShell) {
    const CommandText program = onceward_commands();
    const std::string bash = bash_completion(program);
    const std::string zsh = zsh_completion(program);
    const std::string fish = fish_completion(program);
    for (const CommandText* command : all_commands(program)) {
        EXPECT_THAT(bash, HasSubstr("'" + command->words() + "') "));
        EXPECT_THAT(zsh, HasSubstr("('" + command->words() + "')\n"));
        EXPECT_THAT(fish, HasSubstr("'__onceward_at " + command->words() + "'"));
        for (const OptionText& option : command->options) {
            for (const std::string& name : option.names) {
                EXPECT_THAT(bash, HasSubstr(name)) << command->words();
                EXPECT_THAT(zsh, HasSubstr(name + "[")) << command->words();
            }
        }
    }
}

TEST(Completion, OffersNoHiddenCommand) {
    const CommandText program = onceward_commands();
    EXPECT_GT(all_commands(program).size(), 20U);
    for (const std::string& text :
         {bash_completion(program), zsh_completion(program), fish_completion(program)}) {
        EXPECT_THAT(text, Not(HasSubstr("onceward manual")));
        EXPECT_THAT(text, HasSubstr("onceward completion"));
    }
}

TEST(Completion, QuotesForZshAndFish) {
    const CommandText program = SampleProgram().tree();
    EXPECT_THAT(zsh_completion(program), HasSubstr("'mail:Mail: '\\''all'\\'' of it [now]'"));
    EXPECT_THAT(fish_completion(program), HasSubstr("-a mail -d 'Mail: \\'all\\' of it [now]'"));
    EXPECT_THAT(fish_completion(program), HasSubstr("-l colour -a 'red blue' -r -d 'Its colour'"));
    EXPECT_THAT(fish_completion(program), HasSubstr("-s c -l config -F -r -d 'The file'"));
}

TEST(ManPage, SaysNameSynopsisOptionsAndWhereTheOthersAre) {
    const CommandText program = SampleProgram().tree();
    const std::string page = man_page(program.commands.at(0).commands.at(0), "onceward 1.2.3");
    EXPECT_TRUE(page.starts_with(".TH ONCEWARD-MAIL-SEND 1 \"\" \"onceward 1.2.3\" \"Onceward\"\n"
                                 ".SH NAME\nonceward\\-mail\\-send \\- Send it\n"))
        << page;
    EXPECT_THAT(page, HasSubstr(".SH SYNOPSIS\n\\fBonceward mail send\\fR\n[\\fIOPTIONS\\fR]\n"
                                "\\fIkind\\fR\n"));
    EXPECT_THAT(page, HasSubstr("\\fB\\-\\-colour\\fR \\fITEXT\\fR\nIts colour One of: "
                                "\\fBred\\fR \\fBblue\\fR."));
    EXPECT_THAT(page, HasSubstr("\\fBonceward\\-mail\\fR(1)\n"));
}

TEST(ManPage, HoldsNothingThatManWouldTakeForARequest) {
    const std::string page = man_page_of_markdown(
        "# T\n\n.hidden is a name\n'quoted' \\n\n\n## A part\n\n| a | b |\n|---|---|\n"
        "| `x` | *y* and **z**: `SELECT *` |\n",
        "t.yaml", "a file", "v");
    EXPECT_THAT(page, HasSubstr("\n\\&.hidden is a name\n\\&\\(aqquoted\\(aq \\en\n"));
    EXPECT_THAT(page, HasSubstr(".SH A PART\n"));
    EXPECT_THAT(page,
                HasSubstr(".TP\n\\fBx\\fR\n\\fIy\\fR and \\fBz\\fR: \\fBSELECT *\\fR\n"));
}

}  // namespace
}  // namespace onceward
