#pragma once
// Calls a function once for each key: its claim, what it does in its transaction and its result are
// committed together, and a later call with the key gets the stored result. Any number of threads
// may call once(), each with a Connect of its own.
//
//     Connect connect = reconnecting("host=... dbname=...");
//     const OnceAnswer answer = once(connect, payments, "order-17",
//         [](pqxx::transaction_base& transaction) -> Result {
//             transaction.exec("INSERT INTO ...");
//             return {.status = 201, .body = "paid"};
//         });

#include <pqxx/connection>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "inbox/cpp/claim.h"

namespace onceward::pqxx {

// Lends an open connection for one try; it is called again for the next one. A pool does it, or
// reconnecting().
using Connect = std::function<std::shared_ptr<::pqxx::connection>()>;

// One connection, opened when it is first needed, and another one after it was lost.
Connect reconnecting(std::string connection_string);

struct OnceOptions {
    std::optional<Uuid> fingerprint{};  // of the call's arguments: another one is a conflict
    std::optional<Time> minted_at{};
    // How often the call is begun in all, if the database asks for another try or the connection
    // was lost. The pause is doubled each time, up to two seconds, with jitter.
    int tries = 5;
    std::chrono::milliseconds pause{50};
};

// Thrown by the function: it will never succeed under this key. Its effects are rolled back, and
// the result is stored. Any other exception leaves nothing, and the key free.
class Failed : public std::runtime_error {
  public:
    explicit Failed(Result result);
    const Result& result() const noexcept { return result_; }

  private:
    Result result_;
};

struct OnceAnswer {
    // fresh: by this call. failed: by this call or an earlier one. duplicate: by an earlier one.
    // For conflict, unknown and expired nothing was done, and there is no result.
    Outcome outcome;
    Result result{};
    bool replayed = false;  // an earlier call stored the result
};

// It may be called several times, in transactions of which one commits at most, so it does nothing
// outside of its transaction. It neither commits nor rolls back.
using Work = std::function<Result(::pqxx::transaction_base&)>;

// Throws what the function throws, Refused, and what libpqxx throws if all tries failed: then call
// again with the key, and the answer says what became of it. REQUIRES: the connection has no open
// transaction, its default isolation level is READ COMMITTED, and the ledger stores results.
OnceAnswer once(const Connect& connect, const Inbox& inbox, std::string_view key, const Work& work,
                const OnceOptions& options = {});

}  // namespace onceward::pqxx
