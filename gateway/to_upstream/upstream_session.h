#pragma once
// A request to an upstream, from claim to stored answer: claim and lease in one transaction, the
// call, its end and its answer in another. One object for each thread, with a session and a client
// of its own. Exceptions other than PostgresError are passed on: a schema of another version, a
// ledger with another store. Even if it fails, a request that was begun is in flight in the ledger
// until its lease ends.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "dedup/policy/failure.h"
#include "dedup/results/result_store.h"
#include "dedup/server/server_session.h"
#include "dedup/trace/tracer.h"
#include "gateway/to_upstream/upstream_rules.h"

namespace onceward {

// The ledger is one of leases, with results. The observer is called for each call: before its
// claim, after the claim's COMMIT, with the upstream's answer at hand, and around the COMMIT of its
// end.
struct UpstreamRequestOptions : KeyedRouteOptions {
    std::string key_header{};
    UpstreamTarget upstream{};
    // How long to wait for PostgreSQL, once to claim a key and again to write its end.
    std::chrono::milliseconds patience{30'000};
    // Made in the thread that uses it.
    std::function<UpstreamClient()> client{};
    Tracer* tracer = nullptr;  // null: traces are off
    std::string host{};        // the upstream's, for spans
    // Set by UpstreamRequests. Called with a key whose call begins now, or that another process has
    // in flight.
    std::function<void(const Digest& key)> original = {};
    std::atomic<std::int64_t>* calls = nullptr;  // counts those under way
};

// A claim that may exist and is to be released. Either no call was made for it, and its COMMIT had
// no answer or had it too late; or its call has freed the key, and PostgreSQL did not accept that.
struct ClaimInDoubt {
    Digest key;
    std::optional<Digest> fingerprint;
    Digest token;
};

class UpstreamSession {
  public:
    // The options outlive it. After a stop request, what PostgreSQL does not accept is given up.
    UpstreamSession(const UpstreamRequestOptions& options, std::stop_token stop);

    struct Carried {
        KeyedOutcome outcome;
        bool stored = false;  // the outcome is the key's answer from now on
        // When the database was asked for the outcome; never: the outcome does not depend on it.
        std::chrono::steady_clock::time_point as_of = never;
        bool elsewhere = false;  // its key is in flight in another process: no call was made
        // Set if the claim is to be released, and may still exist: see release_in_doubt().
        std::optional<ClaimInDoubt> in_doubt{};
    };
    // `deadline`: of its claim. A request without a key is sent, but leaves nothing in the ledger.
    // REQUIRES: may_be_forwarded() for its target.
    Carried carry_out(const KeyedRequest& request, std::chrono::steady_clock::time_point deadline);
    // Frees the key of a claim that may exist. Returns false if PostgreSQL has not accepted that:
    // call it again.
    bool release_in_doubt(const ClaimInDoubt& claim);

  private:
    using Clock = std::chrono::steady_clock;
    // A request, borrowed for its call, under its own token.
    struct Attempt {
        const KeyedRequest& request;
        Digest token;  // also stored with the result
        Clock::time_point asked{};  // when the last try to claim it began
        Clock::time_point held_until{};
    };
    // Runs the step until PostgreSQL has accepted it; false if it has not by the deadline.
    bool try_until(Clock::time_point deadline, const std::function<void()>& step);
    bool may_try_again(const PostgresError& error);
    Leases leases_of(const Attempt& attempt) const;
    static ClaimInDoubt claim_of(const Attempt& attempt);
    Carried carry_without_key(const KeyedRequest& request);
    void log_end(const Attempt& attempt, const UpstreamAnswer& answer) const;
    std::optional<KeyedOutcome> claim(Attempt& attempt);
    bool release(const Attempt& attempt, Clock::time_point deadline);
    UpstreamAnswer call(Attempt& attempt);
    std::optional<TraceSpan> begin_trace(const std::string& method, HttpHeaders& headers) const;
    void extend(Attempt& attempt);
    Carried store(const Attempt& attempt, const MessageResult& result);
    void set_up(Connection& connection);

    const UpstreamRequestOptions& options_;
    std::stop_token stop_;
    UpstreamClient client_;
    std::optional<RegisteredLedger> registered_;
    std::unique_ptr<ResultStore> results_;
    ServerSession session_;
    FailureSeries failures_;
    // Since the request began, the answer to some COMMIT was lost, or a claim came too late.
    bool may_be_claimed_ = false;
};

// Reads what became of the keys of a route to an upstream, in a session of its own, so that no
// query waits for a call. Used by one thread.
class UpstreamStatus {
  public:
    // They outlive it.
    explicit UpstreamStatus(const UpstreamRequestOptions& options);
    // In the keys' order, by one statement; nullopt if PostgreSQL fails.
    std::optional<std::vector<StatusOutcome>> look(const std::vector<Digest>& keys);

  private:
    std::optional<std::vector<StatusOutcome>> read(const std::vector<Digest>& keys);

    const UpstreamRequestOptions& options_;
    std::unique_ptr<ResultStore> results_;  // of the session
    ServerSession session_;
};

}  // namespace onceward
