// How numbers are said.

#include "cli/terminal/counted.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(Counted, OneIsSingular) {
    EXPECT_EQ(counted(0, "fault"), "0 faults");
    EXPECT_EQ(counted(1, "fault"), "1 fault");
    EXPECT_EQ(counted(2, "warning"), "2 warnings");
}

}  // namespace
}  // namespace onceward
