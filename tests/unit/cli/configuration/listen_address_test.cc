#include <gtest/gtest.h>

#include "cli/configuration/units.h"

namespace onceward {
namespace {

TEST(ListenAddress, IsAHostAndAPort) {
    for (const char* text : {"127.0.0.1:9464", "[::1]:9464", "0.0.0.0:0", "localhost:65535"}) {
        const auto address = parse_listen_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(to_text(*address), text);
    }
    EXPECT_EQ(parse_listen_address("[::1]:9464")->host, "::1");
}

TEST(ListenAddress, AnythingElseIsNone) {
    for (const char* text : {"", "off", "9464", ":9464", "::1", "127.0.0.1:", "127.0.0.1:65536",
                             "127.0.0.1:9x", "127.0.0.1:-1", "[]:1"}) {
        EXPECT_FALSE(parse_listen_address(text)) << text;
    }
}

}  // namespace
}  // namespace onceward
