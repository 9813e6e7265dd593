// How a key that an operator has written becomes the one that its reader had.

#include "cli/keys/key_scope.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(KeyScope, TakesQuotesOffWhereTheReaderTakesThemOff) {
    TopicConfiguration topic;
    KeySource header;
    header.name = "Idempotency-Key";
    header.strip_quotes = true;
    KeySource record_key;
    record_key.kind = KeySource::Kind::record_key;
    topic.key.sources = {header, record_key};
    const KeyScope scope = scope_of(topic);
    ASSERT_EQ(scope.kinds.size(), 2U);
    const auto read = [&](int kind, const std::string& key) {
        return key_as_read(scope, scope.kinds[static_cast<std::size_t>(kind)], key);
    };
    EXPECT_EQ(read(0, R"("a\"b")"), R"(a"b)");
    EXPECT_EQ(read(0, "a"), "a");
    EXPECT_EQ(read(0, R"("a)"), std::nullopt);
    EXPECT_EQ(read(1, R"("a")"), R"("a")");
}

}  // namespace
}  // namespace onceward
