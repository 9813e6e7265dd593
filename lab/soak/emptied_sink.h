#pragma once
// The table that the worker writes to: taken empty again and again, each row checked against all
// rows before it, of the whole run. Used by one thread; failures are PostgresErrors.

#include <cstdint>
#include <vector>

#include "dedup/postgres/connection.h"
#include "lab/soak/messages.h"
#include "lab/soak/verdict.h"

namespace onceward::soak {

// Which messages have had a row. Pure.
class Seen {
  public:
    explicit Seen(const Messages& messages) : messages_(messages) {}
    // A row with this number, when so many messages were sent. Counts it in `count`.
    void add(std::int64_t number, std::int64_t sent, Count& count);
    // How many keys of so many messages never had a row.
    std::int64_t lost(std::int64_t sent) const;

  private:
    const Messages& messages_;
    std::vector<bool> rows_;
};

class EmptiedSink {
  public:
    EmptiedSink(Connection& connection, const Messages& messages);
    // Counts and removes what is there. `sent` is asked after the rows were read, so that it is at
    // least what they were made of.
    template <class Sent>
    void take(const Sent& sent) {
        const std::string numbers = read();
        add(numbers, sent());
    }
    // When all has been taken.
    Count count(std::int64_t produced, std::int64_t duplicates) const;

  private:
    std::string read();
    void add(const std::string& numbers, std::int64_t sent);
    Connection& connection_;
    Seen seen_;
    Count count_;
};

}  // namespace onceward::soak
