#include "balance_sink.h"

using onceward::FieldSource;
using onceward::Value;

std::vector<FieldSource> BalanceSink::fields() const {
    return {{FieldSource::Kind::field, "/account"}, {FieldSource::Kind::field, "/amount"}};
}

// What can be told without the database is told here, on the reader's thread; it costs the batch
// nothing.
std::optional<onceward::Rejection> BalanceSink::encode(onceward::Message& message,
                                                       std::pmr::memory_resource&) const {
    for (const Value& value : message.fields) {
        if (value.kind != Value::Kind::number) {
            return onceward::Rejection{onceward::Rejection::Kind::unmappable,
                                       "account and amount must be numbers", "", 1};
        }
    }
    return std::nullopt;
}

void BalanceSink::write(onceward::Transaction& transaction, const onceward::BatchContext&,
                        std::span<const onceward::Message* const> messages) {
    std::vector<std::optional<std::string_view>> accounts, amounts;
    for (const onceward::Message* message : messages) {
        accounts.push_back(message->fields[0].text);
        amounts.push_back(message->fields[1].text);
    }
    // One statement for the whole batch. In the order of the accounts, so that two workers never
    // wait for each other.
    transaction.prepared("INSERT INTO " + table_ +
                             " AS known (account, balance) SELECT account::bigint, "
                             "sum(amount::numeric) "
                             "FROM unnest($1::text[], $2::text[]) AS message (account, amount) "
                             "GROUP BY account::bigint ORDER BY account::bigint "
                             "ON CONFLICT (account) DO UPDATE SET balance = known.balance + "
                             "excluded.balance",
                         onceward::Parameters{}.texts(accounts).texts(amounts));
}
