// Names and values that somebody chose to break the configuration, the statement or a terminal.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "dedup/base/text.h"
#include "tests/unit/cli/proposal/sampled.h"

namespace onceward::cli_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string>& hostile_names() {
    static const std::vector<std::string> names = {
        "x\n#\ngroup: other",
        "a\"; DROP TABLE orders; --",
        "\"",
        "'",
        "",
        "a: b",
        "# a",
        "${HOME}",
        "$$",
        "{field: /x}",
        "a/b~c",
        "xmin",
        "ctid",
        "null",
        "true",
        "1e3",
        "\x1b[2J",
        std::string("nul\0byte", 8),
        "\u202e right to left",
        "\u0085next line",
        "*/",
        std::string(100, 'n'),
        std::string(100, 'n') + "m",
        "\u00fc" + std::string(62, 'u'),
        "select",
        "Id",
        "ID",
    };
    return names;
}

Sampled hostile_sample() {
    nlohmann::json payload;
    for (const std::string& name : hostile_names()) payload[name] = 1;
    return Sampled::of({payload.dump(), payload.dump()});
}

TEST(HostileNames, EachFieldIsAColumnAndTheConfigurationStaysWhatItIs) {
    const Sampled sampled = hostile_sample();
    EXPECT_THAT(sampled.refusals(), IsEmpty());
    const Proposal proposal = sampled.proposal();
    EXPECT_EQ(proposal.columns.size(), hostile_names().size());
    LoadOptions lenient;
    lenient.strict_environment = false;
    const LoadResult loaded =
        load_configuration_text(proposal_text(proposal), "proposed.yaml", lenient);
    ASSERT_TRUE(loaded.usable()) << findings_json(loaded.findings, "proposed.yaml");
    EXPECT_EQ(loaded.configuration.group, "onceward-orders");
    const auto& sink = std::get<TableSinkOptions>(loaded.configuration.topics.at(0).sink);
    ASSERT_EQ(sink.columns.size(), proposal.columns.size());
    for (std::size_t i = 0; i < sink.columns.size(); ++i) {
        EXPECT_EQ(sink.columns[i].name, proposal.columns[i].name);
        EXPECT_EQ(sink.columns[i].source, proposal.columns[i].source);
    }
}

TEST(HostileNames, ColumnsHaveNamesThatPostgresTakesWhole) {
    std::set<std::string> names;
    for (const ProposedColumn& column : hostile_sample().proposal().columns) {
        SCOPED_TRACE(column.name);
        EXPECT_TRUE(names.insert(column.name).second);
        EXPECT_FALSE(column.name.empty());
        EXPECT_LE(column.name.size(), 63U);
        EXPECT_EQ(safe_text(column.name, LineBreaks::escaped), column.name);
        EXPECT_NE(column.name, "xmin");
    }
}

TEST(HostileNames, TheStatementHasOneLineForEachColumn) {
    const std::string ddl = table_ddl(hostile_sample().proposal());
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(ddl, '\n')),
              hostile_names().size() + 2);
    EXPECT_THAT(ddl, HasSubstr("\"a\"\"; DROP TABLE orders; --\" bigint"));
}

TEST(HostileNames, NothingButTextReachesTheTerminal) {
    const Proposal proposal = hostile_sample().proposal();
    const std::string text = proposal_text(proposal);
    EXPECT_EQ(safe_text(text, LineBreaks::kept), text);
    EXPECT_THAT(text, Not(HasSubstr("\ngroup: other")));
}

// Why a record cannot be read names a member of it.
TEST(HostileNames, AReasonThatQuotesANameIsText) {
    const Proposal proposal =
        Sampled::of({R"({"\u001b[2J": 1, "\u001b[2J": 2})", R"({"a": 1})"}).proposal();
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("is there twice")));
    const std::string text = proposal_text(proposal);
    EXPECT_EQ(safe_text(text, LineBreaks::kept), text);
}

TEST(HostileNames, HeadersAndTheirNamesCannotEither) {
    const Sampled sampled({{.payload = R"({"a": 1})", .headers = {{"x\n\ngroup: other", "v"}}}});
    const std::string text = proposal_text(sampled.proposal());
    EXPECT_THAT(text, HasSubstr("header `x\\u000a\\u000agroup: other` came"));
    EXPECT_THAT(text, Not(HasSubstr("\ngroup: other")));
    EXPECT_THAT(sampled.refusals(), IsEmpty());
}

TEST(HostileNames, AValueThatNoTypeTakesHasNoColumn) {
    const Sampled sampled = Sampled::of({R"({"a": 1, "b": "x\u0000y"})"});
    const Proposal proposal = sampled.proposal();
    EXPECT_EQ(type_of(proposal, "b"), "");
    EXPECT_THAT(said_of(proposal, "b"), HasSubstr("no type takes"));
    EXPECT_THAT(sampled.refusals(), IsEmpty());
}

// The server would refuse it, which the encoder does not notice.
TEST(HostileNames, ADocumentThatJsonbRefusesIsJson) {
    const Sampled sampled = Sampled::of({R"({"a": {"b": "x\u0000y"}})", R"({"a": {"b": "x"}})"});
    EXPECT_EQ(type_of(sampled.proposal(), "a"), "json");
    EXPECT_THAT(said_of(sampled.proposal(), "a"), HasSubstr("U+0000"));
    EXPECT_THAT(sampled.refusals(), IsEmpty());
}

}  // namespace
}  // namespace onceward::cli_tests
