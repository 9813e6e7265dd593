// Dead letters as rows of the outbox: one for each letter that is new in the table, with the
// message's own bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dedup/sink/packed_headers.h"
#include "sinks/dead_letters/dead_letter_sink.h"
#include "tests/conformance/test_messages.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

using testing::ElementsAre;

class LetterTopics : public testing::Test {
  protected:
    void SetUp() override {
        database().execute(
            "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, "
            "first_offset, next_offset, topic_id) VALUES "
            "('g', 't', 0, gen_random_uuid(), gen_random_uuid(), 0, 0, 'T')");
    }
    Message& reject() {
        Message& message = messages_.add({});
        message.rejection = Rejection{.kind = Rejection::Kind::sink, .reason = "why"};
        return message;
    }
    void write(LetterStyle style = LetterStyle::onceward, const std::string& topic = "t") {
        DeadLetterSink sink({{topic, {"t-letters", style}}});
        OwnedTransaction transaction(connection_);
        sink.write(transaction, {"g", "t"}, messages_.all());
        transaction.commit();
    }
    Rows outbox(const std::string& columns) {
        return database().execute("SELECT " + columns + " FROM outbox ORDER BY position");
    }
    std::int64_t rows() { return database().number("SELECT count(*) FROM outbox"); }
    Database& database() { return schema_.database(); }

    FreshSchema schema_;
    Connection connection_{schema_.worker()};
    TestMessages messages_;
};

TEST_F(LetterTopics, HaveTheMessagesOwnBytesAndThenTheAddedHeaders) {
    Message& message = reject();
    message.record.key = std::string_view("\0k\xff", 3);
    message.record.payload = "";
    message.record.headers = {
        {"a", "1"}, {"a", std::nullopt}, {"", std::string_view("\0\xff", 2)}, {"a", "1"}};
    write(LetterStyle::connect);
    EXPECT_THAT(outbox("consumer_group, topic, record_key, order_key, payload")[0],
                ElementsAre("g", "t-letters", "\\x006bff", "\\x006bff", "\\x"));
    const std::string own = header_bytes(message.record.headers);
    EXPECT_EQ(database().value("SELECT encode(substr(headers, 1, " + std::to_string(own.size()) +
                               "), 'hex') FROM outbox"),
              hex(own));
    EXPECT_EQ(database().number("SELECT position('\\x5f5f636f6e6e6563742e6572726f72732e746f706963'"
                                "::bytea IN headers) FROM outbox"),
              static_cast<std::int64_t>(own.size()) + 5)
        << "the first of the added ones follows at once";
}

TEST_F(LetterTopics, KeepNullsAndWhatHasNoKeyWaitsForNobody) {
    reject();
    write();
    EXPECT_THAT(outbox("record_key, order_key, payload")[0],
                ElementsAre(std::nullopt, std::nullopt, std::nullopt));
}

TEST_F(LetterTopics, GetALetterOnceHoweverOftenItsBatchIsDone) {
    reject();
    write();
    write();
    EXPECT_EQ(rows(), 1);
    database().execute("UPDATE dead_letters SET resolved_at = now()");
    write();
    EXPECT_EQ(rows(), 1) << "it is open again, and no new letter";
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE resolved_at IS NULL"), 1);
    reject();
    write();
    EXPECT_EQ(rows(), 2) << "the second message alone is new";
    EXPECT_EQ(database().number("SELECT count(DISTINCT id) FROM outbox"), 2);
}

TEST_F(LetterTopics, GetNothingOfATransactionThatIsRolledBack) {
    reject();
    {
        DeadLetterSink sink({{"t", {"t-letters", LetterStyle::spring}}});
        OwnedTransaction transaction(connection_);
        sink.write(transaction, {"g", "t"}, messages_.all());
    }
    EXPECT_EQ(rows(), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
}

TEST_F(LetterTopics, AreThoseOfTheirOwnTopicAlone) {
    reject();
    write(LetterStyle::onceward, "another");
    EXPECT_EQ(rows(), 0);
}

// After a fail-over that lost the transaction the record may be in Kafka already.
TEST_F(LetterTopics, GiveTheSameMessageTheSameIdAndAnotherLogAnotherOne) {
    reject();
    write();
    const std::string id = database().value("SELECT id FROM outbox");
    const auto again = [&] {
        database().execute("DELETE FROM outbox; DELETE FROM dead_letters");
        write();
        return database().value("SELECT id FROM outbox");
    };
    EXPECT_EQ(again(), id);
    database().execute("UPDATE fences SET topic_id = 'U'");
    EXPECT_NE(again(), id);
}

}  // namespace
}  // namespace onceward::support
