#include "tests/tidy/build_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Build, EverySourceAndEveryTestIsBuilt) {
    EXPECT_THAT(sources_not_built(repository()), IsEmpty());
}
TEST(Build, ASourceThatNoListNamesIsFound) {
    EXPECT_THAT(
        sources_not_built({{"tests/CMakeLists.txt", "add(x unit/a_test.cc # unit/b_test.cc\n)"},
                           {"tests/unit/a_test.cc", ""},
                           {"tests/unit/b_test.cc", ""},
                           {"dedup/unit/a_test.cc", ""}}),
        UnorderedElementsAre("tests/unit/b_test.cc", "dedup/unit/a_test.cc"));
}

TEST(Build, EveryQueryIsUsed) { EXPECT_THAT(queries_not_used(repository()), IsEmpty()); }
TEST(Build, AQueryThatNobodyUsesIsFound) {
    EXPECT_THAT(queries_not_used({{"schemas/queries/used.sql", ""},
                                  {"schemas/queries/use.sql", ""},
                                  {"schemas/roles/only_tested.sql", ""},
                                  {"tests/a_test.cc", "roles::only_tested"},
                                  {"dedup/a.cc", "query(sql::used);  // sql::use"}}),
                UnorderedElementsAre("schemas/queries/use.sql", "schemas/roles/only_tested.sql"));
}

TEST(Build, EveryFileIsNamedBySomeFile) {
    EXPECT_THAT(files_nobody_names(repository()), IsEmpty());
}
TEST(Build, AFileThatNobodyNamesIsFound) {
    EXPECT_THAT(files_nobody_names({{"dedup/used.h", "as unused.h"},
                                    {"dedup/unused.h", ""},
                                    {"dedup/a.cc", "#include \"dedup/used.h\"\n"},
                                    {"scripts/setup", "./fetch"},
                                    {"scripts/fetch", ""},
                                    {"Makefile", "scripts/setup"},
                                    {"docs/lost.md", "lost.md"}}),
                UnorderedElementsAre("dedup/unused.h", "docs/lost.md"));
}

TEST(Build, TheImagesFirstLayerHasWhatSetupRuns) {
    EXPECT_THAT(files_the_first_layer_lacks(repository()), IsEmpty());
}
TEST(Build, AFileThatTheImagesFirstLayerLacksIsFound) {
    Tree tree{{"scripts/setup", "set -e\n./page\n./driver\n    ./promtool\n"},
              {"scripts/page", "cp cli/page/package.json \"$work\"\n"},
              {"scripts/driver", ". \"$(dirname \"$0\")/source.sh\"\n"},
              {"scripts/source.sh", ""},
              {"scripts/promtool", ""},
              {"cli/page/package.json", "{}"}};
    const std::string setup = "RUN /source/scripts/setup build\n";
    // Not what comes after the layer, nor what is copied to another place.
    tree["Dockerfile"] = "COPY scripts/setup scripts/driver /source/scripts/\n"
                         "COPY scripts/source.sh /source/\n" +
                         setup + "COPY scripts/page /source/scripts/\n";
    EXPECT_THAT(files_the_first_layer_lacks(tree),
                ElementsAre("cli/page/package.json", "scripts/page", "scripts/source.sh"));
    tree["Dockerfile"] =
        "COPY scripts/setup scripts/driver scripts/page scripts/source.sh /source/scripts/\n"
        "COPY cli/page/package.json /source/cli/page/\n" +
        setup;
    EXPECT_THAT(files_the_first_layer_lacks(tree), IsEmpty());
}

TEST(Build, NoTestIsSwitchedOff) { EXPECT_THAT(tests_switched_off(repository()), IsEmpty()); }
TEST(Build, ATestThatIsSwitchedOffIsFound) {
    EXPECT_THAT(tests_switched_off({{"tests/a_test.cc", "TEST(A, DISABLED_B) {}"},
                                    {"tests/b_test.cc", "TEST(A, B) { GTEST_SKIP(); }"},
                                    {"tests/c_test.cc", "// DISABLED_C\n"}}),
                ElementsAre("tests/a_test.cc has DISABLED_B", "tests/b_test.cc has GTEST_SKIP"));
}

TEST(Build, NoTestSleeps) { EXPECT_THAT(sleeping_tests(repository()), IsEmpty()); }
TEST(Build, ASleepIsFound) {
    EXPECT_THAT(sleeping_tests({{"tests/a_test.cc", "std::this_thread::sleep_for(1s);"},
                                {"tests/b_test.cc", "query(\"select pg_sleep(1)\"); usleep(1);"},
                                {"cli/commands/run.cc", "sleep(1);"}}),
                ElementsAre("tests/a_test.cc calls sleep_for", "tests/b_test.cc calls usleep"));
}

}  // namespace
}  // namespace onceward::tidy
