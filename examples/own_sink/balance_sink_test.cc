// Tests the sink alone: balance_sink_test <connection string>. Exit 0 where all holds.

#include "balance_sink.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include "dedup/trial/sink_trial.h"

using namespace onceward;

namespace {

int failures = 0;

void expect(bool holds, const std::string& claim) {
    std::cout << (holds ? "ok: " : "FAILED: ") << claim << "\n";
    failures += holds ? 0 : 1;
}

TrialMessage payment(const char* key, const char* account, const char* amount) {
    const auto number = [](const char* text) {
        Value value;
        value.kind = Value::Kind::number;
        value.text = text;
        return value;
    };
    return {.key = key, .fields = {number(account), number(amount)}, .payload = {}};
}

}  // namespace

int main(int, char** arguments) {
    ConnectionOptions options;
    options.dsn = std::string(arguments[1]);
    Connection connection(options);
    connection.execute(
        "CREATE TEMP TABLE balances (account bigint PRIMARY KEY, balance numeric NOT NULL "
        "CHECK (balance < 1000))");
    BalanceSink sink("balances");
    SinkTrial trial(connection, sink);
    const auto balance = [&](const std::string& account) {
        const QueryResult found =
            connection.query("SELECT balance FROM balances WHERE account = " + account, {});
        return found.rows() == 0 ? std::string() : std::string(found.text(0, 0));
    };

    const TrialOutcome first =
        trial.apply({payment("a", "1", "10.5"), payment("b", "2", "1"), payment("a", "1", "10.5")});
    expect(first.totals.applied == 2 && first.totals.duplicates == 1,
           "a key counts once in a batch");
    expect(balance("1") == "10.5", "its amount was added once");
    expect(trial.apply({payment("a", "1", "10.5")}).totals.duplicates == 1,
           "nor does it in the next one");
    expect(balance("1") == "10.5", "nothing was added then");

    const TrialOutcome mixed =
        trial.apply({payment("c", "1", "1"), payment("d", "1", "5000"),
                     payment("e", "not a number", "1"), payment("f", "2", "2")});
    expect(mixed.totals.applied == 2 && mixed.rejections.size() == 2, "bad messages go alone");
    expect(balance("1") == "11.5" && balance("2") == "3", "the others land");
    expect(mixed.rejections[0].sqlstate == "23514", "with the reason of the database");
    expect(trial.apply({payment("d", "1", "5")}).totals.applied == 1,
           "a rejected key holds no claim");

    TrialMessage text = payment("g", "1", "1");
    text.fields[1].kind = Value::Kind::text;
    expect(trial.apply({text}).rejections.size() == 1,
           "an amount that is text is refused by encode()");
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
