// Twenty-two sinks of Kafka Connect that people have published: each becomes a configuration that
// `check` finds good, and golden/connectors.txt lists what was not carried over. Options and values
// are those that were seen; hosts, names and secrets are not.

#include <gtest/gtest.h>

#include <sstream>

#include "cli/configuration/load.h"
#include "cli/connectors/connector_conversion.h"
#include "tests/unit/cli/commands/program_run.h"

namespace onceward::cli_tests {
namespace {

struct Published {
    std::string seen;  // where
    std::string text;
};

// Each line of seen.txt is `FILE: where it was seen`.
std::vector<Published> published() {
    const auto folder = std::filesystem::path(ONCEWARD_SOURCE_FOLDER) / "tests/unit/cli/connectors";
    std::vector<Published> all;
    std::istringstream lines(Folder::read(folder / "seen.txt"));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(": ");
        all.push_back(
            {line.substr(colon + 2), Folder::read(folder / "public" / line.substr(0, colon))});
    }
    return all;
}

TEST(PublicConnectors, BecomeConfigurationsThatAreGood) {
    const std::vector<Published> all = published();
    EXPECT_GE(all.size(), 20U);
    for (const Published& one : all) {
        SCOPED_TRACE(one.seen);
        const std::string text = configuration_text(convert_connector(read_connector(one.text)));
        LoadOptions lenient;
        lenient.strict_environment = false;
        LoadResult loaded = load_configuration_text(text, "converted.yaml", lenient);
        if (loaded.usable()) check_setup(loaded);
        for (const Finding& finding : loaded.findings) {
            EXPECT_NE(finding.severity, Finding::Severity::error)
                << to_text(finding, "converted.yaml") << "\n"
                << text;
        }
    }
}

TEST(PublicConnectors, AreFollowedByAListOfWhatWasNotCarriedOver) {
    std::ostringstream list;
    for (const Published& one : published()) {
        list << one.seen << "\n";
        for (const auto& note : convert_connector(read_connector(one.text)).notes) {
            list << "    " << note.option << ": " << note.text << "\n";
        }
    }
    const auto file = golden_folder() / "connectors.txt";
    if (writes_golden()) std::ofstream(file) << list.str();
    EXPECT_EQ(list.str(), Folder::read(file));
}

TEST(PublicConnectors, AnOptionThatNobodyKnowsIsNamed) {
    for (const Published& one : published()) {
        Connector connector = read_connector(one.text);
        Connector with_more{connector.name, connector.options.with("flux.capacitor", "1.21")};
        const ConnectorPlan plan = convert_connector(with_more);
        EXPECT_TRUE(std::ranges::any_of(plan.notes, [](const ConnectorNote& note) {
            return note.option == "flux.capacitor";
        })) << one.seen;
    }
}

}  // namespace
}  // namespace onceward::cli_tests
