#pragma once
// Sends dead letters to their topic again: key, payload and headers as they were, in the partition
// that they came from, with one more header that counts the tries. A letter is marked right before
// its copy is produced, if it is still in the state in which it was selected, and again when Kafka
// has the copy. DANGER: if a redrive ends between the two, the letter is produced again. The
// idempotency key makes a second copy a duplicate; a lost copy could not be made good. Used by one
// thread; throws PostgresError and ProducerError.

#include <functional>

#include "cli/dlq/dead_letters.h"
#include "consumer/produce/producer.h"

namespace onceward {

// False: another redrive of this topic is under way, and was for two seconds. The lock is held
// until the session ends.
bool lock_redrives(Connection& connection, const std::string& group, const std::string& topic);

// Sent with the number of the letter whose payload was corrected, so that what becomes of the copy
// can be followed back to it.
inline constexpr const char* corrects_header = "onceward-corrects";

// A payload in place of a letter's own. The letter keeps its own. REQUIRES: the same idempotency
// key, so that at most one of the two takes effect.
struct Correction {
    std::int64_t number = 0;
    std::string payload;
};

struct RedriveOptions {
    ProducerOptions producer;
    std::string topic;
    std::string group = {};      // for the audit log
    std::optional<double> rate;  // records/s at most
    // As in the rules: none goes before one of its record key, and the letters of a record key are
    // marked together, when the first of them goes.
    bool by_key = false;
    std::optional<Correction> correction = {};
    // Whether the user wants it to end.
    std::function<bool()> stopped = [] { return false; };
    // Called now and then with the number that Kafka has.
    std::function<void(std::int64_t delivered)> progress{};
};

struct RedriveReport {
    std::int64_t sent = 0;
    std::int64_t delivered = 0;  // and marked so
    std::int64_t marked = 0;     // may be in the log: stay `redriving`
    std::int64_t reopened = 0;   // not sent, or refused by Kafka for good: as they were before
    // Not sent because it, or with by_key its record key's letters, changed after the selection.
    std::int64_t left = 0;
    std::string first_failure;   // with the letter's number; '' if there was none
};

// A letter that may be in the log without an acknowledgement stays marked as `redriving`, for the
// next redrive; one that is certainly not there is open again. If Kafka refuses a letter, only
// those of its own record key are held back, with by_key.
RedriveReport redrive(Connection& connection, const std::vector<Letter>& letters,
                      const RedriveOptions& options);

}  // namespace onceward
