#include "tests/tidy/room_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string rooms_page(const std::string& rows) {
    return "## Rooms\n\n| room | what is in it | may include |\n|---|---|---|\n" + rows;
}

TEST(Rooms, EachIsInTheTableOfTheArchitecturePage) {
    EXPECT_THAT(room_table_differences(repository()), IsEmpty());
}
TEST(Rooms, AMissingOneAndAPlannedOneAreFound) {
    EXPECT_THAT(room_table_differences(
                    {{"docs/architecture.md",
                      rooms_page("| `dedup/fence/` | the fence | |\n| `dedup/base/` | | |\n"
                                 "| `dedup/moon/` | a plan | |\n")},
                     {"dedup/fence/fence.h", ""},
                     {"dedup/base/types.h", ""},
                     {"sinks/table/plan.h", ""}}),
                UnorderedElementsAre("the table lacks sinks/table", "only the table has dedup/moon",
                                     "the table does not say what is in dedup/base"));
}

TEST(Rooms, EachIncludesWhatTheTableAllowsAndNothingElse) {
    EXPECT_THAT(room_includes(repository()), IsEmpty());
}
TEST(Rooms, AnIncludeThatIsNotAllowedAndOneOfTheRootAreFound) {
    const Tree tree{{"docs/architecture.md",
                     rooms_page("| `dedup/` | root | `dedup/fence` |\n"
                                "| `dedup/fence/` | the fence | `dedup` `dedup/base` |\n"
                                "| `dedup/base/` | base | |\n")},
                    {"dedup/processor.cc", "#include \"dedup/fence/fence.h\"\n"},
                    {"dedup/processor.h", ""},
                    {"dedup/fence/fence.h", "#include \"dedup/processor.h\"\n"},
                    {"dedup/base/types.h", "\n#include \"dedup/fence/fence.h\"\n"}};
    EXPECT_THAT(
        room_includes(tree),
        UnorderedElementsAre("dedup/fence/fence.h:1 includes dedup/processor.h",
                             "dedup/base/types.h:2 includes dedup/fence/fence.h",
                             "dedup/fence does not include dedup/base, which the table allows"));
}

TEST(Rooms, NoneReachesItself) { EXPECT_THAT(room_cycles(repository()), IsEmpty()); }
TEST(Rooms, ACycleOverThreeIsFound) {
    EXPECT_THAT(room_cycles({{"docs/architecture.md",
                              rooms_page("| `a/x/` | x | `a/y` |\n| `a/y/` | y | `a/z` |\n"
                                         "| `a/z/` | z | `a/x` |\n| `a/` | root | `a/x` |\n")}}),
                ElementsAre("a/x reaches itself", "a/y reaches itself", "a/z reaches itself"));
}

TEST(Rooms, NoneIsCrowded) { EXPECT_THAT(crowded_rooms(repository()), IsEmpty()); }
TEST(Rooms, ACrowdedOneIsFound) {
    Tree tree;
    for (int i = 0; i < 31; ++i) {
        tree["dedup/base/part" + std::to_string(i) + ".h"] = "";
        tree["cli/configuration/part" + std::to_string(i) + ".h"] = "";
    }
    EXPECT_THAT(crowded_rooms(tree), ElementsAre("dedup/base has 31 files"));
}

}  // namespace
}  // namespace onceward::tidy
