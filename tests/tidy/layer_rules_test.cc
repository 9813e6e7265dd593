#include "tests/tidy/layer_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Layers, NoFolderIncludesWhatStandsAboveOrBesideIt) {
    EXPECT_THAT(backward_includes(repository()), IsEmpty());
}
TEST(Layers, AnIncludeBackwardsOrSidewaysIsFound) {
    EXPECT_THAT(
        backward_includes({{"dedup/fence/fence.cc", "\n#include \"consumer/worker.h\"\n"},
                           {"sinks/plan.cc", "#include \"consumer/worker.h\"\n"},
                           {"cli/commands/run.cc", "#include \"tests/support/database.h\"\n"},
                           {"clients/cpp/a.cc", "#include \"dedup/message/digest.h\"\n"},
                           {"cli/commands/check.cc", "#include \"dedup/fence/fence.h\"\n"}}),
        UnorderedElementsAre("dedup/fence/fence.cc:2 includes consumer/worker.h",
                             "sinks/plan.cc:1 includes consumer/worker.h",
                             "clients/cpp/a.cc:1 includes dedup/message/digest.h",
                             "cli/commands/run.cc:1 includes tests/support/database.h"));
}

TEST(Layers, NoLibraryLinksOneOfAFolderAboveOrBesideIt) {
    EXPECT_THAT(backward_links(repository()), IsEmpty());
}
TEST(Layers, ALinkBackwardsIsFound) {
    EXPECT_THAT(
        backward_links({{"dedup/CMakeLists.txt", "onceward_library(dedup PUBLIC onceward_sinks)"},
                        {"sinks/CMakeLists.txt", "onceward_library(sinks PUBLIC onceward_dedup)"}}),
        UnorderedElementsAre("dedup/CMakeLists.txt links onceward_sinks"));
}

TEST(Layers, OnlyTheConsumerIncludesLibrdkafka) {
    EXPECT_THAT(kafka_headers_elsewhere(repository()), IsEmpty());
}
TEST(Layers, LibrdkafkaElsewhereIsFound) {
    EXPECT_THAT(
        kafka_headers_elsewhere({{"cli/commands/run.cc", "#include <librdkafka/rdkafka.h>\n"},
                                 {"consumer/source.cc", "#include <librdkafka/rdkafka.h>"}}),
        UnorderedElementsAre("cli/commands/run.cc:1 includes librdkafka"));
}

TEST(Layers, TheCheckerSharesNoCodeWithTheProduct) {
    EXPECT_THAT(checker_dependencies(repository()), IsEmpty());
}
TEST(Layers, ACheckerThatUsesTheProductIsFound) {
    const std::string folder = "tests/faults/checker/";
    const std::string list = folder + "CMakeLists.txt";
    EXPECT_THAT(
        checker_dependencies(
            {{folder + "a.cc", "#include \"dedup/message/digest.h\"\n#include <vector>\n"},
             {folder + "b.cc", "#include <onceward/dedup/digest.h>\n#include <libpq-fe.h>\n"},
             {folder + "c.cc", "#include \"tests/faults/checker/a.h\"\n#include \"a.h\"\n"},
             {folder + "d.cc", "#include \"tests/support/database.h\"\n"},
             {list,
              "onceward_library(checker PRIVATE onceward_dedup onceward::sinks\n# onceward_x"},
             {"tests/CMakeLists.txt",
              "target_link_libraries(onceward_checker PRIVATE a)\n"
              "onceward_test(unit_checker LIBRARIES onceward_checker)"}}),
        UnorderedElementsAre(
            "tests/faults/checker/a.cc:1 has #include \"dedup/message/digest.h\"",
            "tests/faults/checker/b.cc:1 has #include <onceward/dedup/digest.h>",
            "tests/faults/checker/c.cc:2 has #include \"a.h\"",
            "tests/faults/checker/d.cc:1 has #include \"tests/support/database.h\"",
            "tests/faults/checker/CMakeLists.txt:1 names onceward_dedup",
            "tests/faults/checker/CMakeLists.txt:1 names onceward::sinks",
            "tests/CMakeLists.txt:1 adds to onceward_checker"));
}

TEST(Layers, OnlyTheCompositionRootNamesASink) {
    EXPECT_THAT(sinks_named_elsewhere(repository()), IsEmpty());
}
TEST(Layers, ASinkNamedInTheCoreIsFound) {
    const std::string sink = "class MadeUpSink final : public Sink {};";
    EXPECT_THAT(sinks_named_elsewhere({{"sinks/made_up.h", sink},
                                       {"dedup/processor.cc", "MadeUpSink sink;"},
                                       {"dedup/fence/fence.cc", "// as MadeUpSink does"},
                                       {"cli/commands/run.cc", "MadeUpSink sink;"},
                                       {"cli/composition/composition.cc", "MadeUpSink sink;"}}),
                UnorderedElementsAre("dedup/processor.cc names MadeUpSink",
                                     "cli/commands/run.cc names MadeUpSink"));
}

TEST(Layers, NoTypeOfAFileHidesOneOfTheProduct) {
    EXPECT_THAT(types_hidden(repository()), IsEmpty());
}
TEST(Layers, ATypeThatHidesOneOfTheProductIsFound) {
    const std::string open = "namespace onceward {\nnamespace {\n\n";
    const std::string close = "\n}  // namespace\n";
    const std::string header = "namespace onceward {\nclass UsageError : public Error {\n};\n" +
                               std::string("}  // namespace onceward\n");
    EXPECT_THAT(
        types_hidden(
            {{"cli/terminal/exit_code.h", header},
             {"cli/commands/produce.cc", open + "struct UsageError {\n};" + close},
             {"cli/alias.cc", open + "using UsageError = int;" + close},
             {"cli/own.cc", open + close + "class UsageError;\n"},
             {"cli/other.cc", open + "struct UsageErrors final {\n};" + close},
             {"cli/inner.cc", open + "struct A {\n    struct UsageError {};\n};" + close},
             {"cli/b/far.cc", "namespace onceward::b {\nnamespace {\nclass UsageError {\n"},
             {"dedup/below.cc", open + "class UsageError {\n};" + close},
             {"tests/a_test.cc", open + "class UsageError {\n};" + close}}),
        UnorderedElementsAre(
            "cli/commands/produce.cc:4 hides onceward::UsageError of cli/terminal/exit_code.h",
            "cli/alias.cc:4 hides onceward::UsageError of cli/terminal/exit_code.h"));
}

TEST(Layers, NoClassIsSpreadOverMoreThanThreeFiles) {
    EXPECT_THAT(classes_spread(repository()), IsEmpty());
}
TEST(Layers, AClassThatIsSpreadIsFound) {
    Tree tree;
    for (const char* name : {"a", "b", "c"}) {
        tree[std::string("dedup/") + name + ".cc"] = "void Large::" + std::string(name) + "() {\n";
    }
    EXPECT_THAT(classes_spread(tree), IsEmpty());
    tree["dedup/d.cc"] = "std::vector<int> Large::d(int one,\n";
    EXPECT_THAT(classes_spread(tree), UnorderedElementsAre("Large has methods in 4 files"));
}

}  // namespace
}  // namespace onceward::tidy
