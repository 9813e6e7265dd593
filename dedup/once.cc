#include "dedup/once.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "dedup/base/expects.h"
#include "dedup/claims/table_store.h"
#include "dedup/policy/failure.h"
#include "dedup/results/result_store.h"
#include "dedup/server/server_check.h"
#include "dedup/unfenced_transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::string_view lost_registration = "40001";
constexpr std::size_t longest_key = 255;
constexpr std::string_view service = "once()";

LedgerOptions ledger_of(const OnceOptions& options) {
    return {.name = options.ledger, .retention = options.retention, .stores_results = true};
}

Digest digest_of_key(const OnceKey& key) {
    if (key.text.empty() || key.text.size() > longest_key ||
        key.text.find('\0') != std::string_view::npos) {
        throw std::invalid_argument("an idempotency key has 1 to 255 bytes, and no NUL among them");
    }
    if (key.operation.empty()) {
        throw std::invalid_argument("a key belongs to an operation: name it");
    }
    return digest_of({key.operation, key.tenant, key.kind, key.text});
}

MessageResult within(const ResultLimits& limits, MessageResult result) {
    std::optional<MessageResult> kept = storable(std::move(result), limits);
    if (!kept) throw std::length_error("the result is above OnceOptions::limits");
    return std::move(*kept);
}

}  // namespace

// One call, over all of its tries.
class OnceCall {
  public:
    OnceCall(const OnceKey& key, const OnceLedger& ledger)
        : digest_(digest_of_key(key)),
          fingerprint_(stamped(key.fingerprint, key.minted_at)),
          attempt_(digest_of_bytes(new_uuid())),
          key_(key),
          ledger_(ledger),
          options_(ledger.options()) {
        make_stores(ledger.registered());
    }

    OnceAnswer run(Connection& connection, const OnceFunction& function) {
        FailureSeries failures;
        for (int attempt = 1;; ++attempt) {
            try {
                return try_once(connection, function);
            } catch (const PostgresError& error) {
                const FailureAction action = failures.met(error, origin_);
                const bool again =
                    action == FailureAction::retry || action == FailureAction::reconnect;
                if (!again || attempt >= options_.tries) throw;
                lost_ = lost_ || action == FailureAction::reconnect;
                unregistered_ = unregistered_ ||
                                (origin_ == Origin::ours && error.sqlstate() == lost_registration);
                std::this_thread::sleep_for(failures.pause());
            }
        }
    }

  private:
    void make_stores(const RegisteredLedger& registered) {
        registered_ = registered;
        claims_.emplace(registered.ledger, registered.source);
        results_.emplace(registered.ledger, StoreKind::table);
    }

    OnceAnswer try_once(Connection& connection, const OnceFunction& function) {
        origin_ = Origin::ours;
        if (lost_) {
            claims_->connection_lost();
            results_->connection_lost();
            connection = Connection(connection.options());
            check_server(connection);
            lost_ = false;
        }
        if (unregistered_) {
            make_stores(ledger_.register_again(connection));
            unregistered_ = false;
        }
        connection.limit_prepared();
        std::exception_ptr thrown;
        try {
            return attempt(connection, function);
        } catch (PermanentFailure& failure) {
            if (told_) throw;
            failure.result_ = within(options_.limits, std::move(failure.result_));
            failure_ = failure.result_;
            thrown = std::current_exception();
        }
        // The failure is stored in a transaction of its own, without what the function had done. If
        // another caller was first meanwhile, the answer is theirs.
        OnceAnswer answer = attempt(connection, {});
        if (answer.kind == OnceAnswer::Kind::applied) std::rethrow_exception(thrown);
        return answer;
    }

    // DANGER: the session may be one that the service made after a fail-over. There the ledger's
    // number may be that of another ledger, and the claim would protect nothing.
    void require_ledger(Transaction& transaction, std::chrono::milliseconds idle) const {
        // Otherwise the server ends the session if the function computes between its statements for
        // longer than a session may be idle, well within the time that the call has.
        const auto longest = std::to_string(std::max(options_.longest_request, idle).count());
        const Parameters parameters{registered_.ledger, registered_.source, options_.ledger,
                                    service};
        const std::vector<QueryResult> known = transaction.pipelined(
            {{sql::once_idle, {longest}, {}}, {sql::once_ledger, parameters, {}}});
        if (known[1].binary_integer(0, 1) == 1) {
            throw ServerRefused(commit_may_be_lost("synchronous_commit"));
        }
        if (known[1].binary_integer(0, 0) == 0) try_again("the ledger is no longer registered");
    }

    // If `function` is empty, stores the failure that it threw.
    OnceAnswer attempt(Connection& connection, const OnceFunction& function) {
        UnfencedTransaction unfenced(connection,
                                     {.claims = *claims_, .origin = origin_, .results = &*results_},
                                     OwnedTransaction::Begin::with_first);
        require_ledger(unfenced.transaction(), connection.options().idle_in_transaction_timeout);
        const Claim claim{digest_, fingerprint_, Partition{0}, Offset{0}, key_.minted_at};
        switch (unfenced.claim({&claim, 1})->front().verdict) {
            case Verdict::conflict: return {OnceAnswer::Kind::conflict, {}};
            case Verdict::duplicate: return known(unfenced.transaction());
            case Verdict::late: return {OnceAnswer::Kind::expired, {}};
            case Verdict::early:
                throw std::invalid_argument("the key was minted in the future");
            case Verdict::fresh: break;
        }
        OnceAnswer answer;
        unfenced.apply([&](Transaction& transaction) {
            answer.result =
                function ? within(options_.limits, function(transaction)) : failure_.value();
            return std::vector<ResultStore::Stored>{
                {digest_, std::string(key_.tenant), answer.result, attempt_}};
        });
        if (unfenced.land() == Settlement::again) try_again("the ledger was rotated");
        return answer;
    }

    OnceAnswer known(Transaction& transaction) {
        std::optional<ResultStore::Found> found = results_->find(transaction, digest_);
        if (!found) return {OnceAnswer::Kind::unknown, {}};
        // DANGER: if the attempt is ours, a COMMIT whose answer was lost took effect: then this is
        // the first answer, and not a replay.
        const bool mine = found->attempt == attempt_;
        if (found->result.kind == MessageResult::Kind::failed) {
            const std::string what = found->result.body;
            PermanentFailure failure(what, std::move(found->result));
            failure.replayed_ = !mine;
            told_ = true;
            throw failure;
        }
        return {mine ? OnceAnswer::Kind::applied : OnceAnswer::Kind::replayed,
                std::move(found->result)};
    }

    Digest digest_;
    std::optional<Digest> fingerprint_;
    Digest attempt_;
    const OnceKey& key_;
    const OnceLedger& ledger_;
    const OnceOptions& options_;
    RegisteredLedger registered_;
    std::optional<TableStore> claims_;
    std::optional<ResultStore> results_;
    std::optional<MessageResult> failure_;  // what the function threw last
    bool told_ = false;                     // the exception on its way holds a stored failure
    Origin origin_ = Origin::ours;          // whose statement is running
    bool lost_ = false;                     // the session was lost
    bool unregistered_ = false;             // the ledger may be, so it is registered again
};

OnceLedger::OnceLedger(Connection& connection, OnceOptions options) : options_(std::move(options)) {
    check_server(connection);
    register_again(connection);
}

RegisteredLedger OnceLedger::registered() const {
    const MutexLock lock(registration_->mutex);
    return registration_->registered;
}

RegisteredLedger OnceLedger::register_again(Connection& connection) const {
    const RegisteredLedger registered =
        register_requests(connection, ledger_of(options_), std::string(service), options_.ledger,
                          options_.longest_request);
    const MutexLock lock(registration_->mutex);
    registration_->registered = registered;
    return registered;
}

LedgerOptions OnceLedger::ledger_options() const { return ledger_of(options_); }

OnceAnswer once(Connection& connection, const OnceKey& key, const OnceLedger& ledger,
                const OnceFunction& function) {
    expects(!connection.in_transaction(), "once() opens the transaction itself");
    return OnceCall(key, ledger).run(connection, function);
}

OnceAnswer once(Connection& connection, const OnceKey& key, const OnceOptions& options,
                const OnceFunction& function) {
    return once(connection, key, OnceLedger(connection, options), function);
}

}  // namespace onceward
