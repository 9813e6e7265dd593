#pragma once
// What the tests of the inbox share: a fresh schema with a ledger, and sessions that claim by SQL
// as a program in any language does. Used by one thread; failures are DatabaseErrors.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/database.h"
#include "tests/support/postgres.h"

namespace onceward::support {

// An answer of claim(), as text.
struct InboxAnswer {
    std::string outcome;
    std::string digest;
    std::string attempt;
    bool mine = false;
    std::optional<std::string> status;
    std::optional<std::string> body;
};

// One session of a program that uses the inbox.
class InboxSession {
  public:
    explicit InboxSession(FreshSchema& schema) : database(schema.server().dsn) {
        database.execute("SET search_path = " + schema.name());
    }
    void begin() { database.execute("BEGIN"); }
    void commit() { database.execute("COMMIT"); }
    void rollback() { database.execute("ROLLBACK"); }
    // `more`: further arguments, such as "ledger => 'x'".
    InboxAnswer claim(const std::string& key, const std::string& more = "") {
        const Row row = database
                            .execute(
                                "SELECT outcome, digest, attempt, mine, status, "
                                "convert_from(body, 'UTF8') FROM claim('pay', '', 'id', $1::text" +
                                    (more.empty() ? "" : ", " + more) + ")",
                                {key})
                            .front();
        return {*row[0], *row[1], *row[2], row[3] == "t", row[4], row[5]};
    }
    void finish(const InboxAnswer& claimed, const std::string& body = "done",
                const std::string& more = "") {
        database.execute("SELECT finish($1::uuid, $2::uuid, 201, '[]', convert_to($3, 'UTF8')" +
                             (more.empty() ? "" : ", " + more) + ")",
                         {claimed.digest, claimed.attempt, body});
    }
    // A whole transaction: claim, and a result if the key is fresh.
    InboxAnswer once(const std::string& key, const std::string& more = "",
                     const std::string& ledger = "inbox") {
        begin();
        InboxAnswer answer = claim(key, more);
        if (answer.outcome == "fresh") finish(answer, "paid " + key, "ledger => '" + ledger + "'");
        commit();
        return answer;
    }
    Database database;
};

// The SQLSTATE that the work ends with; '' if it ends well.
template <class Work>
std::string sqlstate_of(Work work) {
    try {
        work();
        return "";
    } catch (const DatabaseError& error) {
        return error.sqlstate();
    }
}

class InboxTest : public ::testing::Test {
  protected:
    InboxTest() { session_.database.execute("SELECT register_ledger('inbox')"); }
    Database& database() { return schema_.database(); }
    std::int64_t claims(const std::string& generation = "1_1") {
        return database().number("SELECT count(*) FROM claims_" + generation);
    }
    FreshSchema schema_;
    InboxSession session_{schema_};
    InboxSession other_{schema_};
};

}  // namespace onceward::support
