// The words of a command, as the audit log keeps them.

#include "cli/terminal/command_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace onceward {
namespace {

std::string line(const std::vector<std::string>& words) { return words_without_secrets(words); }

TEST(CommandLine, IsAsItWasWritten) {
    EXPECT_EQ(line({"offsets", "--set", "7", "--reason", "a damaged disk", "--yes"}),
              "offsets --set 7 --reason 'a damaged disk' --yes");
    EXPECT_EQ(line({"forget", ""}), "forget ''");
    EXPECT_EQ(line({"replay", "--from", "earliest", "--to=latest"}),
              "replay --from earliest --to=latest");
    EXPECT_EQ(line({}), "");
}

TEST(CommandLine, HasNoSecret) {
    const std::vector<std::vector<std::string>> all{
        {"forget", "k", "--dsn", "host=db c4n4ry", "--yes"},
        {"forget", "k", "--dsn=postgresql://db/c4n4ry", "--yes"},
        {"import", "--from", "host=db password=c4n4ry", "--yes"},
        {"import", "--from=host=db PassWord = c4n4ry", "--yes"},
        {"import", "--from", "postgresql://user:c4n4ry@db/shop", "--yes"},
    };
    for (const std::vector<std::string>& words : all) {
        const std::string text = line(words);
        EXPECT_EQ(text.find("c4n4ry"), std::string::npos) << text;
        EXPECT_NE(text.find("***"), std::string::npos) << text;
        EXPECT_NE(text.find("--yes"), std::string::npos) << "what follows is kept: " << text;
    }
}

TEST(CommandLine, OfAThousandKeysIsCut) {
    EXPECT_EQ(line(std::vector<std::string>(10'000, "--number")).size(), 4000U);
}

}  // namespace
}  // namespace onceward
