#pragma once
// The log store without a worker: sessions that claim keys one by one.

#include <memory>
#include <optional>
#include <string>

#include "dedup/claims/log/log_store.h"
#include "dedup/ledger/ledger.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {

class LogStoreTest : public CoreTest {
  protected:
    LogStoreTest() {
        store_ = StoreKind::log;
        Connection connection(schema_.worker());
        LedgerOptions ledger;
        ledger.name = "ledger";
        ledger.store = StoreKind::log;
        registered_ = register_ledger(connection, ledger, "group", "topic");
    }
    // One worker's session with its store, in a process of its own unless `windows` says another.
    struct Session {
        Connection connection;
        LogStore store;
        std::optional<OwnedTransaction> open;

        Session(const ConnectionOptions& options, const RegisteredLedger& registered,
                std::shared_ptr<LogWindows> windows)
            : connection(options),
              store(registered.ledger, registered.source, std::move(windows)) {}
        ClaimAnswer begin(const Claim& wanted) {
            store.catch_up(connection);
            open.emplace(connection);
            return store.claim(*open, std::span(&wanted, 1))->at(0);
        }
        Settlement settle() { return store.settle(*open); }
        void commit() {
            open->commit();
            open.reset();
            store.committed();
        }
        // As the processor does it, until it is settled.
        ClaimAnswer ask(const Claim& wanted) {
            while (true) {
                const ClaimAnswer answer = begin(wanted);
                if (settle() == Settlement::settled) {
                    commit();
                    return answer;
                }
                open.reset();
                ++redone;
            }
        }
        Verdict verdict(const std::string& key) { return ask(claim_of(key)).verdict; }
        int redone = 0;
    };
    Session session(const std::string& name = "onceward") {
        return {named(name), registered_, windows_ ? windows_ : std::make_shared<LogWindows>()};
    }

    RegisteredLedger registered_;
};

}  // namespace onceward::support
