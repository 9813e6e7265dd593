#pragma once
// Calls any C++ function once for each idempotency key, for services that have no queue: its claim,
// what it does in its transaction and its result are committed together, and a caller with the
// same key again gets the stored result. Callers of one key at the same time wait for the first.
//
//     OnceLedger ledger(connection, {.ledger = "payments"});
//     const OnceAnswer answer = once(connection, {.operation = "pay", .text = key}, ledger,
//         [&](Transaction& transaction) { ...; return MessageResult{.status = 201}; });
//
// OnceLedger is made once: any number of threads may use it, each with a session of its own. After
// a fail-over that lost its registration, the next call registers it again. Effects outside the
// transaction (mails, calls) are not covered.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "dedup/base/mutex.h"
#include "dedup/ledger/ledger.h"
#include "dedup/message/digest.h"
#include "dedup/message/minted.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/message_result.h"

namespace onceward {

struct OnceOptions {
    // Its store is `table`, its reach `global`. Why no other: docs/semantics.md, Calls.
    std::string ledger = "once";
    // How long a result is kept at least. A retry that comes later runs the function again.
    std::chrono::seconds retention{24 * 3600};
    // A key's first call, with all that it waits for, takes at most this long. A longer time keeps
    // claims longer by as much.
    std::chrono::milliseconds longest_request{60'000};
    ResultLimits limits{};
    // How often a call is begun in all, if the database asks for another try or its session was
    // lost; with pauses of 50 ms, doubled each time, up to two seconds.
    int tries = 8;
};

// The ledger of such calls, registered; its feed is the service's own. Throws as
// register_requests() does; ServerRefused if the server or the session is not fit for a worker.
class OnceLedger {
  public:
    explicit OnceLedger(Connection& connection, OnceOptions options = {});
    const OnceOptions& options() const { return options_; }
    // As it was registered last.
    RegisteredLedger registered() const;
    // Thread-safe; throws as the constructor does.
    RegisteredLedger register_again(Connection& connection) const;
    // For a RetentionJob, which some process of the service has to run.
    LedgerOptions ledger_options() const;

  private:
    // Copies share it.
    struct Registration {
        Mutex mutex;
        RegisteredLedger registered ONCEWARD_GUARDED_BY(mutex);
    };
    OnceOptions options_;
    std::shared_ptr<Registration> registration_ = std::make_shared<Registration>();
};

// The kind of a key that neither a message nor a request brought.
inline constexpr std::string_view kind_of_calls = "once";

struct OnceKey {
    std::string_view operation;  // which command
    std::string_view tenant{};   // whose; '' if there are none
    std::string_view text{};     // the key itself: 1 to 255 bytes, no NUL
    // A digest of the call's arguments: the same key with another fingerprint is a conflict.
    std::optional<Digest> fingerprint = std::nullopt;
    // When the key was minted, such as minted_from_uuid7(). It joins the fingerprint. Without it a
    // key that is older than the retention is taken for a new one.
    std::optional<MintedAt> minted_at = std::nullopt;
    // Another kind shares keys with messages, requests or the inbox, if the operation and the
    // ledger are theirs too: `header:Idempotency-Key` is that of a route.
    std::string_view kind = kind_of_calls;
};

// Thrown by the function: it will never succeed under this key. Its effects are rolled back. The
// failure is stored as the key's result, and every later call with the key throws it again. Any
// other exception leaves nothing, and the key stays free.
class PermanentFailure : public std::runtime_error {
  public:
    explicit PermanentFailure(const std::string& what, MessageResult result = {})
        : std::runtime_error(what), result_(std::move(result)) {
        result_.kind = MessageResult::Kind::failed;
        if (result_.body.empty()) result_.body = what;
    }
    const MessageResult& result() const { return result_; }
    bool replayed() const { return replayed_; }

  private:
    friend class OnceCall;
    MessageResult result_;
    bool replayed_ = false;
};

struct OnceAnswer {
    enum class Kind : std::uint8_t {
        applied,   // by this call
        replayed,  // by an earlier one; the result is that one's
        conflict,  // the key was used before with another fingerprint; nothing was done
        unknown,   // the key was used before, and no result of it is kept
        expired,   // minted before the ledger's memory begins: it may have been used; nothing done
    } kind = Kind::applied;
    MessageResult result;  // of applied and replayed
};

// The function cannot commit its transaction. It may be called several times, in different
// transactions, of which at most one commits. What it returns goes through OnceOptions::limits.
using OnceFunction = std::function<MessageResult(Transaction&)>;

// Throws PermanentFailure; what the function throws; std::invalid_argument for an invalid key, or
// one that was minted in the future; std::length_error if the result is too large and is to be
// rejected; PostgresError if all tries failed; ServerRefused if the session is not fit for a
// worker. DANGER: after a lost session `connection` is a new one with the same options: the
// caller's own prepared statements, settings and locks are gone. REQUIRES: no transaction is open.
OnceAnswer once(Connection& connection, const OnceKey& key, const OnceLedger& ledger,
                const OnceFunction& function);
// The same, and registers the ledger each time: four statements more.
OnceAnswer once(Connection& connection, const OnceKey& key, const OnceOptions& options,
                const OnceFunction& function);

}  // namespace onceward
