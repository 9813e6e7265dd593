// Pays an order once: claim, row and result are one transaction of PostgreSQL. The second call gets
// the stored result, and another amount under the same key is refused.
//   pay <connection string> <order> <cents>

#include <cstdlib>
#include <iostream>
#include <string>

#include <pqxx/pqxx>

#include "inbox/cpp/lease.h"
#include "inbox/cpp/once.h"

namespace inbox = onceward::pqxx;

namespace {

const inbox::Inbox payments{.operation = "pay", .ledger = "payments"};
const inbox::Inbox charges{.operation = "charge", .ledger = "charges"};

// What a service's owner does once.
void set_up(const inbox::Connect& connect) {
    pqxx::work transaction(*connect());
    transaction.exec("SELECT onceward.register_ledger('payments')");
    transaction.exec("SELECT onceward.register_ledger('charges', 'lease')");
    transaction.exec("CREATE TABLE IF NOT EXISTS cpp_payments (order_id text, cents integer)");
    transaction.commit();
}

int pay(const inbox::Connect& connect, const std::string& order, const std::string& cents) {
    const inbox::OnceAnswer answer = inbox::once(
        connect, payments, order,
        [&](pqxx::transaction_base& transaction) -> inbox::Result {
            if (cents.starts_with('-')) {
                throw inbox::Failed({.status = 422, .body = "a payment is not negative"});
            }
            transaction.exec("INSERT INTO cpp_payments VALUES ($1, $2)",
                             pqxx::params{order, cents});
            return {.status = 201, .body = "paid " + cents + " cents"};
        },
        {.fingerprint = inbox::fingerprint_of(cents)});
    const char* before = answer.replayed ? " (before)\n" : "\n";
    switch (answer.outcome) {
        case inbox::Outcome::fresh:
        case inbox::Outcome::duplicate: std::cout << answer.result.body << before; return 0;
        case inbox::Outcome::failed: std::cerr << answer.result.body << before; return 1;
        case inbox::Outcome::conflict: std::cerr << "the key has another amount\n"; return 1;
        case inbox::Outcome::unknown:
        case inbox::Outcome::expired:
        case inbox::Outcome::in_flight: break;
    }
    std::cerr << "the key cannot be judged: " << inbox::name_of(answer.outcome) << "\n";
    return 1;
}

// A call to another system, under a lease. A program that dies in between leaves the lease; after
// it has run out, the call is made again, with the same downstream key.
void charge(const inbox::Connect& connect, const std::string& order) {
    const auto in_transaction = [&](const auto& work) {
        pqxx::work transaction(*connect());
        const auto answer = work(transaction);
        transaction.commit();
        return answer;
    };
    const inbox::Lease lease = in_transaction(
        [&](auto& transaction) { return inbox::lease(transaction, charges, order); });
    if (lease.outcome != inbox::Outcome::fresh) {
        std::cout << "charge: " << inbox::name_of(lease.outcome) << "\n";
        return;
    }
    std::cout << "charge: called with a key of " << lease.downstream_key.text().size()
              << " characters\n";
    in_transaction([&](auto& transaction) {
        return inbox::end_lease(transaction, charges, lease, {.status = 201, .body = "ch_1"});
    });
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::cerr << "pay <connection string> <order> <cents>\n";
        return 64;
    }
    try {
        const inbox::Connect connect = inbox::reconnecting(arguments[1]);
        set_up(connect);
        const int status = pay(connect, arguments[2], arguments[3]);
        if (status == 0) charge(connect, arguments[2]);
        return status;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return EXIT_FAILURE;
    }
}
