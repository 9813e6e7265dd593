// I11: dead letters are there, whole, and once.

#include <set>
#include <tuple>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/joined.h"

namespace onceward::checker {
namespace {

// What can become nothing but a dead letter.
bool must_be_rejected(const Message& message, const TopicSettings& settings) {
    switch (message.produced->nature) {
        case Nature::undecodable: return message.outcome != Outcome::duplicate;
        case Nature::tombstone: return settings.tombstones == Policy::reject;
        case Nature::without_key: return settings.without_key == Policy::reject;
        case Nature::good:
        case Nature::refused:
        case Nature::uncertain: return false;
    }
    return false;
}

std::string missing_part(const DeadLetter& letter, const Message& message) {
    if (letter.identity.empty()) return "identity";
    if (!letter.has_timestamp) return "timestamp";
    if (letter.error_class.empty()) return "error class";
    if (letter.reason.empty()) return "reason";
    if (letter.attempts < 1) return "attempts";
    const bool by_database = message.produced->nature == Nature::refused;
    return by_database && letter.sqlstate.size() != 5 ? "SQLSTATE" : "";
}

}  // namespace

Violations check_dead_letters(const Joined& joined) {
    Violations violations;
    Finding of_none("I11", "a dead letter is that of no committed message");
    Finding two("I11", "a message has two dead letters");
    Finding unlike("I11", "a dead letter differs from what was produced");
    Finding incomplete("I11", "a dead letter is incomplete");
    Finding other_code("I11", "a dead letter names another SQLSTATE than the sink raised");
    std::set<std::tuple<std::string, Place>> seen;
    for (const DeadLetter& letter : joined.evidence().dead_letters) {
        const auto where = [&] { return joined.describe(letter.place); };
        if (!seen.emplace(letter.identity, letter.place).second) two.at(where);
        const Message* message = joined.find(letter.place);
        if (message == nullptr) {
            of_none.at(where);
            continue;
        }
        const auto content = joined.evidence().contents.find(letter.place);
        if (content != joined.evidence().contents.end() && content->second != letter.content) {
            unlike.at(where);
        }
        const std::string part = missing_part(letter, *message);
        const std::string& raised = message->produced->sqlstate;
        if (!raised.empty() && letter.sqlstate != raised) {
            other_code.at([&] { return where() + ": " + letter.sqlstate + ", not " + raised; });
        }
        if (!part.empty()) incomplete.at([&] { return where() + " lacks its " + part; });
    }
    of_none.into(violations);
    two.into(violations);
    unlike.into(violations);
    incomplete.into(violations);
    other_code.into(violations);
    Finding missing("I11", "a message that must be rejected has no dead letter");
    for (const auto& [name, view] : joined.partitions()) {
        for (const Message& message : view.messages) {
            const bool expected = message.passed && message.in_log && !message.in_range &&
                                  must_be_rejected(message, joined.topic(name.topic));
            if (expected && message.dead_letters == 0) {
                missing.at([&] { return joined.describe(message); });
            }
        }
    }
    missing.into(violations);
    return violations;
}

Violations check_secrets(const Evidence& evidence) {
    Violations violations;
    Finding secret("I14", "a secret stands where none may stand");
    for (const SecretFound& found : evidence.secrets) {
        secret.at([&] { return found.file + ":" + std::to_string(found.line); });
    }
    secret.into(violations);
    return violations;
}

}  // namespace onceward::checker
