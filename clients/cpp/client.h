#pragma once
// Calls of an HTTP front door, each under an idempotency key that is minted once for the logical
// operation and kept over its retries; with a store also over a restart of the caller. A client is
// used by one thread at a time; it owns its connection and borrows the store, which must outlive
// it. send() returns a final answer below 400 and throws the errors of clients/cpp/errors.h for all
// else, StoreFailed where the store fails, and std::invalid_argument for what cannot be sent at
// all.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "clients/cpp/errors.h"
#include "clients/cpp/policy.h"
#include "clients/cpp/store.h"
#include "clients/cpp/transport.h"

namespace onceward::client {

struct Options {
    Retries retries{};
    Store* store = nullptr;  // for operations that have a name
    // How long the server remembers keys; a stored one that is older is not sent.
    std::chrono::seconds retention{std::chrono::hours(24)};
    std::chrono::milliseconds timeout{30'000};  // of one attempt
    Headers headers{};                          // with each request, such as Authorization
    std::string key_header = "Idempotency-Key";
    bool uuid7 = false;      // keys tell when they were minted: for a route with key.minted_at
    bool bare_keys = false;  // without the quotes of the IETF's draft
    // Called for weak keys and a store that does not forget; by default a line on the standard
    // error stream.
    std::function<void(const std::string&)> warn{};
};

struct Request {
    std::string method = "POST";
    std::string target;  // path and query
    std::string body{};
    std::string content_type = "application/json";  // '': none
    Headers headers{};
    std::optional<std::string> key{};        // the caller's own
    std::optional<std::string> operation{};  // its name in the store, the same after a restart
};

class Client {
  public:
    // `base_url`: `https://shop.example`. `transport`: for tests.
    explicit Client(std::string base_url, Options options = {},
                    std::unique_ptr<Transport> transport = make_curl_transport());

    // One operation, over as many attempts as it takes. `stop` ends a wait between two of them.
    Answer send(const Request& request, const std::stop_token& stop = {});

  private:
    struct Key {
        std::string text;
        bool in_doubt = false;  // it may have been sent before
    };
    Key key_of(const Request& request);
    void forget(const std::string& operation, const std::string& key);
    void judge_key(const std::string& key);
    Sending sending(const Request& request) const;

    std::string base_url_;
    Options options_;
    std::unique_ptr<Transport> transport_;
    std::string previous_key_;  // given by the caller
};

}  // namespace onceward::client
