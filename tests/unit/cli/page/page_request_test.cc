#include "cli/page/page_request.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(PageRequest, AQueryIsReadAsABrowserWritesIt) {
    const auto request = page_request("/api/key?key=a%2Fb+c%26d&tenant=&topic=orders&empty");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->path, "/api/key");
    EXPECT_EQ(request->value("key"), "a/b c&d");
    EXPECT_EQ(request->given("topic"), "orders");
    EXPECT_EQ(request->given("tenant"), std::nullopt);
    EXPECT_EQ(request->value("empty"), "");
    EXPECT_EQ(request->value("other"), "");
}

TEST(PageRequest, ANameMayBeAllThereIs) {
    EXPECT_EQ(page_request("/api/overview")->path, "/api/overview");
    EXPECT_EQ(page_request("/api/overview?")->values.size(), 0U);
    EXPECT_EQ(page_request("/api/key?key=a=b")->value("key"), "a=b");
}

TEST(PageRequest, ABrokenEscapeIsRefused) {
    EXPECT_FALSE(page_request("/api/key?key=%4"));
    EXPECT_FALSE(page_request("/api/key?%zz=1"));
}

}  // namespace
}  // namespace onceward
