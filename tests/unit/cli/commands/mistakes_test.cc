// What users get wrong, and what the program says then: as golden/mistakes.txt has it. See
// help_test.cc for how to write it again.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/unit/cli/commands/program_run.h"

namespace onceward::cli_tests {
namespace {

using testing::HasSubstr;

const char* const usable = R"(group: shop
kafka: {bootstrap_servers: '127.0.0.1:1'}
postgres: {dsn: host=127.0.0.1 port=1 user=worker}
topics:
  - name: orders
    key: {preset: idempotency-key}
    sink: {table: orders, columns: {id: /id}}
)";

// Each without a server.
const char* const mistakes[] = {
    "ofsets",
    "ofsets --help",
    "start",
    "Dlq list",
    "dlq",
    "dlq lst",
    "migrate",
    "config",
    "--verbose",
    "-v",
    "--json",
    "offsets --grup shop",
    "offsets sikp",
    "offsets -c a.yaml -c b.yaml",
    "offsets -c",
    "offsets -c ''",
    "offsets -c missing.yaml",
    "offsets -c .",
    "check good.yaml",
    "check missing.yml",
    "offsets good.yaml",
    "dlq list good.yaml",
    "check -c wrong.yaml",
    "check -c wrong.yaml --json",
    "run -c wrong.yaml",
    "run -c wrong.yaml --json",
    "run -c routes.yaml",
    "offsets -c good.yaml",
    "offsets -c good.yaml --json",
    "offsets --partition -1",
    "offsets --partition first",
    "offsets --topic orders --set yesterday -c good.yaml",
    "offsets --topic orders --set '2026-01-31 12:00:00' -c good.yaml",
    "offsets --set earliest -c good.yaml",
    "offsets --yes=maybe",
    "dlq list --since 1hour",
    "dlq list --class sinks",
    "dlq list --limit 0",
    "dlq redrive",
    "dlq redrive --topic orders --rate 0",
    "dlq discard --topic orders --reason ''",
    "dlq show",
    "explain",
    "explain ''",
    "explain a b",
    "explain a --route 'POST /orders' --topic orders",
    "pause",
    "pause ordrs -c good.yaml",
    "replay --topic orders",
    "replay --topic orders --from 1h --to",
    "import --topic orders --query 'SELECT 1' --file keys.txt",
    "migrate up --ledger payments",
    "migrate up --grant-to ''",
    "groups list --dsn ''",
    "groups list --dsn 'postgresql://worker:se@cret@127.0.0.1:1/shop'",
    "groups list --dsn 'host=127.0.0.1 port=1 password=se cret'",
    "groups list --dsn 'host=127.0.0.1 port=1' --schema ''",
    "retention --any-hour",
    "check --max-rejected 3 -c good.yaml",
    "audit --topic orders",
    "audit --topic orders --column id",
    "audit --from 1d",
    "audit --topic orders --table orders --column id --since 1d",
    "ledger convert payments --to log --dsn 'host=127.0.0.1 port=1'",
    "migrate down --to 999",
    "init kafka",
    "produce -t orders",
    "produce -t orders -b 127.0.0.1:1 missing.ndjson",
    "produce -t orders -b 127.0.0.1:1 --repeat-share 2",
    "health -c good.yaml",
    "describe --openapi -c good.yaml",
    "help nothing",
};

std::string said_of_all(const Folder& folder) {
    std::string text;
    for (const char* line : mistakes) {
        const Ran ran = folder.run(line);
        text += "$ onceward " + std::string(line) + "\n" + ran.output + ran.errors + "[exit " +
                std::to_string(ran.exit_code) + "]\n\n";
    }
    return std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z )"), "");
}

class Mistakes : public testing::Test {
  protected:
    Mistakes() {
        // Another test's process may listen at the default address meanwhile.
        folder_.write("good.yaml", std::string(usable) + "admin: {listen: '127.0.0.1:1'}\n");
        folder_.write("wrong.yaml", std::string(usable) + "    retention: 1 day\n");
        folder_.write("routes.yaml",
                      "group: shop\npostgres: {dsn: host=127.0.0.1 port=1}\nhttp: {routes: "
                      "[{method: POST, path: /orders, sink: {table: o, columns: {id: /id}}}]}\n");
    }
    nlohmann::json error_of(const std::string& line) const {
        const Ran ran = folder_.run(line + " --json");
        const auto json = nlohmann::json::parse(ran.errors);
        EXPECT_EQ(json.at("exit_code"), ran.exit_code);
        return json;
    }
    Folder folder_;
};

TEST_F(Mistakes, AreSaidAsTheFileHasIt) {
    const auto file = golden_folder() / "mistakes.txt";
    const std::string said = said_of_all(folder_);
    if (writes_golden()) std::ofstream(file) << said;
    EXPECT_EQ(said, Folder::read(file));
}

TEST_F(Mistakes, NameWhatToDo) {
    for (const char* line : mistakes) {
        SCOPED_TRACE(line);
        const Ran ran = folder_.run(line);
        EXPECT_NE(ran.exit_code, 0);
        // `check --json` prints what it found as its answer.
        EXPECT_THAT(ran.errors + ran.output, testing::Not(testing::IsEmpty()));
    }
}

TEST_F(Mistakes, AreObjectsForPrograms) {
    const auto usage = error_of("offsets --grup shop");
    EXPECT_EQ(usage.at("code"), "usage");
    EXPECT_THAT(usage.at("message"), HasSubstr("`--grup`; did you mean `--group`?"));
    EXPECT_THAT(usage.at("hint"), HasSubstr("onceward offsets --help"));
    EXPECT_TRUE(usage.at("location").is_null());

    const auto configuration = error_of("run -c wrong.yaml");
    EXPECT_EQ(configuration.at("code"), "configuration");
    EXPECT_EQ(configuration.at("location").at("file"), "wrong.yaml");
    EXPECT_EQ(configuration.at("location").at("line"), 8);
    EXPECT_EQ(configuration.at("location").at("path"), "topics[0]");
    EXPECT_FALSE(configuration.at("findings").empty());

    EXPECT_EQ(error_of("offsets -c good.yaml").at("code"), "postgres_unreachable");
    EXPECT_EQ(error_of("ofsets").at("code"), "usage");
    EXPECT_EQ(error_of("dlq show 0 -c good.yaml").at("code"), "usage");
}

// As of a variable that was not set: without the option everything is meant.
TEST_F(Mistakes, AnEmptySelectorIsOneAndDoesNotMeanEverything) {
    for (const char* line : {
             "dlq discard --topic '' --reason r --yes",
             "dlq discard --topic orders --key '' --reason r --yes",
             "dlq discard --topic orders --group '' --reason r --yes",
             "dlq discard --topic orders --database '' --reason r --yes",
             "dlq discard --topic orders --class '' --reason r --yes",
             "dlq discard --topic orders --number '' --reason r --yes",
             "dlq redrive --topic orders --key '' --yes",
             "dlq redrive --topic orders --from-topic '' --yes",
             "dlq redrive --topic orders --number 1 --payload '' --reason r --yes",
             "dlq import letters.ndjson --topic '' --yes",
             "groups retire '' --yes",
             "groups retire old --topic '' --yes",
             "groups retire old --ledger '' --yes",
             "forget k --topic orders --ledger '' --reason r --yes",
             "forget k --topic orders --tenant '' --reason r --yes",
             "forget k --topic orders --operation '' --reason r --yes",
             "forget k --topic orders --kind '' --reason r --yes",
             "forget k --topic orders --source '' --reason r --yes",
             "forget --tenant acme --topic '' --reason r --yes",
             "forget --tenant acme --route '' --reason r --yes",
             "forget --tenant acme --ledger '' --reason r --yes",
             "forget --tenant acme --group '' --reason r --yes",
             "offsets --topic '' --set 1 --reason r --yes",
             "retention --ledger '' --run-once",
             "audit --who ''",
             "audit --what ''",
             "pause ''",
             "pause orders --reason ''",
             "import --topic '' --query 'SELECT 1' --yes",
             "import --topic orders --query '' --yes",
             "import --topic orders --tenant '' --query 'SELECT 1' --yes",
         }) {
        SCOPED_TRACE(line);
        const Ran ran = folder_.run(std::string(line) + " -c good.yaml");
        EXPECT_EQ(ran.exit_code, 64);
        EXPECT_THAT(ran.errors, testing::AnyOf(HasSubstr("and it is empty"), HasSubstr("not ``")));
    }
}

TEST_F(Mistakes, AFilterCannotChooseAmongTheLettersOfATopic) {
    for (const char* filter :
         {"--class sink", "--key k", "--since 1h", "--until 1h", "--number 1"}) {
        const Ran ran = folder_.run(
            std::string("dlq redrive --topic orders --from-topic letters -c good.yaml ") + filter);
        EXPECT_EQ(ran.exit_code, 64) << filter;
        EXPECT_THAT(ran.errors, HasSubstr("takes in all letters of --topic")) << filter;
    }
}

class ConfigurationFile : public Mistakes {
  protected:
    // The configuration that a command says it took.
    std::string taken(const std::string& line, const std::string& variables = "") const {
        return folder_.run(line, variables).errors;
    }
};

TEST_F(ConfigurationFile, IsTheOneOfTheVariableOrTheFoldersAndIsNamed) {
    const std::string unnamed = "offsets";
    EXPECT_THAT(taken(unnamed), HasSubstr("./onceward.yaml"));
    folder_.write("onceward.yaml", usable);
    EXPECT_THAT(taken(unnamed), HasSubstr("onceward: the configuration is ./onceward.yaml\n"));
    EXPECT_THAT(taken(unnamed, "ONCEWARD_CONFIG=good.yaml"),
                HasSubstr("onceward: the configuration is good.yaml\n"));
    EXPECT_THAT(taken("offsets -c good.yaml", "ONCEWARD_CONFIG=missing.yaml"),
                testing::Not(HasSubstr("the configuration is")));
    EXPECT_THAT(taken("offsets --dsn 'host=127.0.0.1 port=1' --group g"),
                testing::Not(HasSubstr("the configuration is")));
    const auto line = nlohmann::json::parse(taken("check --json", "ONCEWARD_CONFIG=good.yaml"));
    EXPECT_EQ(line.at("level"), "info");
}

TEST_F(ConfigurationFile, IsNamedByRunInItsLog) {
    folder_.write("onceward.yaml",
                  "group: shop\npostgres: {dsn: host=127.0.0.1 port=1}\n"
                  "http: {routes: [{method: POST, path: /orders, sink: {table: "
                  "o, columns: {id: /id}}}]}\n");
    EXPECT_THAT(taken("run"), HasSubstr("configuration.loaded"));
}

TEST_F(Mistakes, AreColouredOnATerminalAlone) {
    EXPECT_THAT(folder_.on_terminal("ofsets"), HasSubstr("\x1b[31monceward:\x1b[0m"));
    EXPECT_THAT(folder_.on_terminal("check -c wrong.yaml"), HasSubstr("\x1b[31merror:\x1b[0m"));
    EXPECT_THAT(folder_.on_terminal("ofsets", "NO_COLOR=1"), testing::Not(HasSubstr("\x1b[")));
    EXPECT_THAT(folder_.on_terminal("ofsets", "TERM=dumb"), testing::Not(HasSubstr("\x1b[")));
    EXPECT_THAT(folder_.run("ofsets").errors, testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace onceward::cli_tests
