#pragma once
// Takes the letters of a topic of dead letters into the table, where they can be seen and sent
// again like any others: those of Onceward, of Kafka Connect and of Spring. A letter is known by
// its place in its own topic's log, so that the same topic may be read again. All of it is one
// transaction, which begins with the first letter, and which only commit() commits. Used by one
// thread; throws PostgresError.

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dedup/message/message.h"
#include "dedup/postgres/transaction.h"
#include "sinks/dead_letters/letter_headers.h"

namespace onceward {

struct LetterIntakeOptions {
    std::string group;  // whose letters they become
    std::string topic;  // that the messages are of, and go back to
    std::string from;   // the topic of dead letters
    // Also take a message that the group has read and has no letter of: it may have been applied.
    bool may_repeat = false;
    std::int64_t limit = 0;  // of letters that are to be sent
};

struct TakenLetters {
    std::int64_t read = 0;         // records
    std::int64_t added = 0;        // new in the table
    std::int64_t present = 0;      // there, and to be dealt with
    std::int64_t done = 0;         // there, sent again or resolved
    std::int64_t discarded = 0;    // by an operator: they stay so
    std::int64_t read_here = 0;    // the group has read the message itself
    std::int64_t no_fence = 0;     // the group has read nothing of the partition
    std::int64_t other_topic = 0;  // of another topic
    std::int64_t other_group = 0;  // Onceward's, of another group: to that one it may be new
    std::int64_t unreadable = 0;   // no dead letter by its headers
    std::vector<std::string> unreadable_places;  // the first of them, each with the reason
    std::vector<std::int64_t> numbers;           // of those that are new or present
};

nlohmann::json to_json(const TakenLetters& taken);

class LetterIntake {
  public:
    LetterIntake(Connection& connection, LetterIntakeOptions options)
        : options_(std::move(options)),
          transaction_(connection, OwnedTransaction::Begin::with_first) {}
    // Records of the topic of dead letters, in their order. Those beyond the limit are left out.
    void take(std::span<const Record> records);
    bool full() const;
    // With a row in the audit log. REQUIRES: a letter was taken.
    void commit();
    const TakenLetters& taken() const { return taken_; }

  private:
    struct Page;
    void take_page(std::span<const Record> records);
    void write(Page& page);
    void note(const Record& record, const std::string& problem);

    const LetterIntakeOptions options_;
    OwnedTransaction transaction_;
    TakenLetters taken_;
    std::set<std::int64_t> seen_;  // numbers
};

}  // namespace onceward
