#include "tests/tidy/mutex_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Mutexes, TheProductHasNoneThatTheAnalysisDoesNotKnow) {
    EXPECT_THAT(bare_mutexes(repository()), IsEmpty());
}
TEST(Mutexes, ABareMutexOrLockIsFound) {
    EXPECT_THAT(bare_mutexes({{"cli/a.cc", "Mutex mutex;\nstd::shared_mutex mutex_;\n"},
                              {"consumer/b.h", "// no std::mutex\nstd::condition_variable wake_;"},
                              {"consumer/c.h", "std::condition_variable_any wake_;\n"},
                              {"dedup/base/mutex.h", "std::mutex mutex_;\n"},
                              {"sinks/d.cc", "const std::lock_guard lock(mutex_);\n"},
                              {"clients/cpp/e.cc", "std::mutex mutex;\n"},
                              {"tests/f.cc", "std::mutex mutex;\n"}}),
                ElementsAre("cli/a.cc:2 has std::shared_mutex",
                            "consumer/b.h:2 has std::condition_variable",
                            "sinks/d.cc:1 has std::lock_guard"));
}

TEST(Mutexes, EachSaysWhatItGuards) {
    EXPECT_THAT(mutexes_that_guard_nothing(repository()), IsEmpty());
}
TEST(Mutexes, AMutexThatGuardsNothingIsFound) {
    const std::string guarded = "mutable Mutex one_;\nint a_ ONCEWARD_GUARDED_BY(one_) = 0;\n";
    EXPECT_THAT(mutexes_that_guard_nothing({{"cli/a.h", guarded},
                                            {"cli/b.h", guarded + "SharedMutex other_;\n"},
                                            {"cli/c.h", "Mutex mutex_;  // of a_\nint a_;\n"}}),
                ElementsAre("cli/b.h: nothing is guarded by other_",
                            "cli/c.h: nothing is guarded by mutex_"));
}

}  // namespace
}  // namespace onceward::tidy
