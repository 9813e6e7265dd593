// Letters of a topic of dead letters on their way into the table: how long a transaction is open.

#include "cli/dlq/letter_intake.h"

#include <deque>

#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

class TakenIn : public Operator {
  protected:
    TakenIn() { fence(0, 10); }

    // A record of a topic of dead letters that many topics share.
    std::vector<Record> letter_of(const std::string& topic, std::int64_t offset) {
        const LetterOrigin origin{.topic = topic,
                                  .partition = Partition{0},
                                  .offset = Offset{offset},
                                  .group = "billing"};
        std::vector<Record> records(1);
        const auto& headers = owned_.emplace_back(letter_headers(LetterStyle::onceward, origin));
        for (const LetterHeader& header : headers) {
            records[0].headers.push_back({header.name, header.value});
        }
        return records;
    }
    // When the session began to do what it does now.
    std::string state_change() {
        return database().value("SELECT state_change FROM pg_stat_activity WHERE pid = " +
                                std::to_string(operators_.pid()));
    }

    std::deque<std::vector<LetterHeader>> owned_;  // what the records point to
    Connection operators_{schema_.owner()};
    LetterIntake intake_{operators_, {.group = "billing",
                                      .topic = "orders",
                                      .from = "letters",
                                      .limit = 10}};
};

TEST_F(TakenIn, OpenNoTransactionBeforeTheFirstLetterOfTheirTopic) {
    intake_.take(letter_of("refunds", 1));
    EXPECT_FALSE(operators_.in_transaction()) << "the server would end the idle session";
    intake_.take(letter_of("orders", 5000));
    EXPECT_TRUE(operators_.in_transaction());
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
    intake_.commit();
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 1);
    EXPECT_EQ(intake_.taken().other_topic, 1);
}

TEST_F(TakenIn, LeaveTheSessionIdleForNoPageOfOtherLetters) {
    intake_.take(letter_of("orders", 5000));
    const std::string first = state_change();
    intake_.take(letter_of("refunds", 1));
    EXPECT_NE(state_change(), first);
    intake_.commit();
    EXPECT_EQ(intake_.taken().added, 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 1);
}

}  // namespace
}  // namespace onceward::operator_tests
