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

TEST(KeyScope, ReadsAComposedKeyHoweverItsJsonIsWritten) {
    TopicConfiguration topic;
    KeySource source;
    source.kind = KeySource::Kind::fields;
    source.names = {"/account", "/order"};
    topic.key.sources = {source};
    const KeyScope scope = scope_of(topic);
    ASSERT_EQ(scope.kinds, std::vector<std::string>{R"(fields:["/account","/order"])"});
    const auto read = [&](const std::string& key) {
        return key_as_read(scope, scope.kinds.front(), key);
    };
    EXPECT_EQ(read(R"(["acme","17"])"), R"(["acme","17"])");
    EXPECT_EQ(read("[ \"ac\\u006de\" ,\n\"17\" ]"), R"(["acme","17"])");
    for (const char* other : {"acme", R"(["acme"])", R"(["acme","17","x"])", R"(["acme",17])",
                              R"({"a":"b","c":"d"})"}) {
        EXPECT_EQ(read(other), std::nullopt) << other;
    }
}

}  // namespace
}  // namespace onceward
