#include "dedup/ledger/ledger.h"

#include <functional>
#include <stdexcept>

#include "dedup/claims/log/log_store.h"
#include "dedup/claims/log/partition_log_store.h"
#include "dedup/claims/table_store.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

std::string to_text(Reach reach) { return reach == Reach::global ? "global" : "partition"; }

// What to do about a ledger that already exists with another store or reach.
std::string way_out(const LedgerOptions& options, std::string_view store) {
    if (options.any_store) return "`store: auto` is for a table or a log: name another ledger";
    if (options.store == StoreKind::table && store == "log") {
        return "it was converted, or made as a log: write `store: auto` or `store: log`, or name "
               "another ledger";
    }
    if (options.store == StoreKind::log && store == "table") {
        return "`onceward ledger convert` makes it a log, with `store: auto` while workers run; or "
               "name another ledger";
    }
    return "a table can become a log, and a reach global, and nothing else: name another ledger";
}

// An inbox that stores no results has programs that never store one: the ledger stays as it is. The
// error is put into words here, since no message of PostgreSQL is logged that may quote a value.
void begin_results(Transaction& transaction, const LedgerOptions& options, int ledger) {
    try {
        transaction.query(sql::results_begin, {ledger});
    } catch (const PostgresError& error) {
        if (error.sqlstate() != "OW002") throw;
        throw std::runtime_error("ledger " + options.name +
                                 " has an inbox that stores no results, and this needs them: "
                                 "name another ledger");
    }
}

// `feed` writes the row of the source that feeds the ledger, and returns it.
RegisteredLedger register_with(Connection& connection, const LedgerOptions& options,
                               const std::function<QueryResult(Transaction&, int ledger)>& feed) {
    if (options.stores_results && options.reach == Reach::partition) {
        throw std::invalid_argument("a ledger with reach: partition stores no results");
    }
    OwnedTransaction transaction(connection);
    const QueryResult ledger = transaction.query(
        sql::ledger_register,
        {options.name, std::string(to_text(options.store)), to_text(options.reach),
         std::to_string(options.retention.count()) + " seconds", options.any_store});
    const std::string store(ledger.text(0, 1));
    RegisteredLedger registered;
    registered.ledger = static_cast<int>(ledger.integer(0, 0));
    registered.store = options.store;
    if (options.any_store) registered.store = table_or_log(store).value_or(options.store);
    std::string reach(ledger.text(0, 2));
    if (registered.store == StoreKind::log && options.reach == Reach::global &&
        store == to_text(StoreKind::log) && reach == to_text(Reach::partition)) {
        // DANGER: take the lock first. Appends of the narrower reach hold it shared, and may become
        // visible in another order than that of their numbers; later appends see the new reach.
        transaction.query(sql::log_lock, {registered.ledger});
        reach = transaction.query(sql::ledger_reach_global, {registered.ledger}).text(0, 0);
    }
    if (store != to_text(registered.store) || reach != to_text(options.reach)) {
        throw std::runtime_error("ledger " + options.name + " is there with store " + store +
                                 " and reach " + reach + ": " + way_out(options, store));
    }
    registered.source = static_cast<int>(feed(transaction, registered.ledger).integer(0, 0));
    transaction.query(sql::ledger_begin, {registered.ledger});
    if (options.stores_results) begin_results(transaction, options, registered.ledger);
    transaction.commit();
    return registered;
}

}  // namespace

RegisteredLedger register_ledger(Connection& connection, const LedgerOptions& options,
                                 const std::string& consumer_group, const std::string& topic) {
    return register_with(connection, options, [&](Transaction& transaction, int ledger) {
        return transaction.query(sql::ledger_feed_register, {ledger, consumer_group, topic});
    });
}

RegisteredLedger register_requests(Connection& connection, const LedgerOptions& options,
                                   const std::string& service, const std::string& name,
                                   std::chrono::milliseconds longest_request) {
    if (options.reach == Reach::partition) {
        throw std::invalid_argument("only a log has partitions: write reach: global");
    }
    return register_with(connection, options, [&](Transaction& transaction, int ledger) {
        return transaction.query(
            sql::ledger_requests_register,
            {ledger, service, name, std::to_string(longest_request.count()) + " milliseconds"});
    });
}

int fixed_partitions(Connection& connection, int source, int partitions) {
    const QueryResult fixed = connection.query(sql::ledger_feed_partitions, {source, partitions});
    return fixed.rows() == 0 ? partitions : static_cast<int>(fixed.integer(0, 0));
}

std::unique_ptr<ClaimStore> make_claim_store(const LedgerOptions& options,
                                             const RegisteredLedger& registered,
                                             std::shared_ptr<LogWindows> windows) {
    const auto [ledger, source, store] = registered;
    switch (store) {
        case StoreKind::table: return std::make_unique<TableStore>(ledger, source);
        case StoreKind::log:
            if (options.reach == Reach::global) {
                return std::make_unique<LogStore>(ledger, source, std::move(windows));
            }
            return std::make_unique<PartitionLogStore>(ledger, source, std::move(windows));
        case StoreKind::lease: break;
    }
    throw std::invalid_argument("a ledger with `store: lease` is no store of claims");
}

}  // namespace onceward
