#include "gateway/http/http.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using testing::ElementsAre;

TEST(Http, ValuesComeInTheirOrderWithoutTheBlanksAroundThem) {
    const HttpHeaders headers{{"A", " 1 "}, {"B", "2"}, {"a", "\t3"}, {"a", "  "}};
    EXPECT_THAT(values_of(headers, "a"), ElementsAre("1", "3", ""));
    EXPECT_EQ(only_value(headers, "b"), "2");
    EXPECT_EQ(only_value(headers, "a"), std::nullopt);
    EXPECT_EQ(only_value(headers, "c"), std::nullopt);
}

TEST(Http, ThePathOfATargetIsWithoutItsQuery) {
    EXPECT_EQ(path_of("/a/b?c=d"), "/a/b");
    EXPECT_EQ(path_of("/a"), "/a");
}

TEST(Http, PercentsAreDecodedOrRefused) {
    EXPECT_EQ(percent_decoded("a%2Fb%c3%A9"), "a/b\xC3\xA9");
    for (const char* text : {"%", "%4", "%4g", "%%41"}) {
        EXPECT_EQ(percent_decoded(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace onceward
