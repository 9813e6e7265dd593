#include "lab/demo/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/configuration/load.h"
#include "lab/demo_files.h"

namespace onceward::demo {
namespace {

using testing::HasSubstr;

const QueryResult result{{.produced = 1'200'000,
                          .unique_keys = 900'000,
                          .applied = 899'999,
                          .duplicates = 300'000,
                          .lost = 1,
                          .twice = 2,
                          .unknown = 0},
                         5,
                         6,
                         12'345.6};

TEST(DemoReport, TheTableGroupsItsNumbers) {
    const std::string table = to_table(result);
    EXPECT_THAT(table, HasSubstr("produced            1,200,000\n"));
    EXPECT_THAT(table, HasSubstr("applied               899,999\n"));
    EXPECT_THAT(table, HasSubstr("applied twice               2\n"));
    EXPECT_THAT(table, HasSubstr("messages/s             12,346\n"));
}

TEST(DemoReport, TheJsonHasEveryField) {
    const nlohmann::json expected{{"produced", 1'200'000},
                                  {"unique_keys", 900'000},
                                  {"applied", 899'999},
                                  {"duplicates", 300'000},
                                  {"lost", 1},
                                  {"twice", 2},
                                  {"workers_killed", 5},
                                  {"workers_frozen", 6},
                                  {"messages_per_second", 12'346}};
    EXPECT_EQ(nlohmann::json::parse(to_json(result)), expected);
}

// What the stage puts in is text without any meaning for YAML.
TEST(DemoConfiguration, HasNoMistakes) {
    std::string text(demo_files::demo);
    text.replace(text.find("@KAFKA@"), 7, "localhost:9092");
    text.replace(text.find("@DSN@"), 5, "host=127.0.0.1 port=1 user=postgres password=x");
    const LoadResult loaded =
        load_configuration_text(text, std::string(ONCEWARD_SOURCE_FOLDER) + "/schemas/demo.yaml");
    for (const Finding& finding : loaded.findings) ADD_FAILURE() << to_text(finding, "demo.yaml");
    EXPECT_EQ(loaded.configuration.topics.size(), 2U);
}

// The mock cluster would choose the ids from its memory's addresses: a worker that takes the place
// of a frozen one could get the id of the group's leader, and librdkafka crashes then.
TEST(DemoConfiguration, ItsWorkersChooseTheirOwnMemberIds) {
    EXPECT_NE(std::string(demo_files::demo).find("\n    group.protocol: consumer\n"),
              std::string::npos);
}

}  // namespace
}  // namespace onceward::demo
