#include "sinks/outbox/outbox_rows.h"

#include <vector>

#include "dedup/sink/packed_headers.h"
#include "schemas/queries.h"

namespace onceward {
Digest outbox_id(std::string_view topic, OutboxPlace place, const Digest& key) {
    return digest_of({.operation = "onceward outbox",
                      .tenant = topic,
                      .kind = place == OutboxPlace::sink ? "sink" : "also_publish",
                      .text = bytes_of(key)});
}

void insert_outbox_rows(Transaction& transaction, const std::string& group,
                        std::span<const OutboxRow> rows) {
    if (rows.empty()) return;
    const SinkStatement statement = outbox_statement(group, rows);
    transaction.prepared(statement.sql, statement.parameters);
}

SinkStatement outbox_statement(const std::string& group, std::span<const OutboxRow> rows) {
    std::vector<std::optional<std::string_view>> topics, order_keys, keys, payloads, headers,
        tenants;
    std::vector<Digest> ids;
    for (const OutboxRow& row : rows) {
        topics.emplace_back(row.topic);
        ids.push_back(row.id);
        order_keys.push_back(row.order_key);
        keys.push_back(row.key);
        payloads.push_back(row.payload);
        headers.emplace_back(row.headers);
        tenants.push_back(row.tenant);
    }
    return {sql::outbox_insert, std::move(Parameters{group, topics, ids}
                                              .byte_strings(order_keys)
                                              .byte_strings(keys)
                                              .byte_strings(payloads)
                                              .byte_strings(headers)
                                              .byte_strings(tenants))};
}

void OutboxReplies::write(Transaction& transaction, std::span<const Reply> replies) {
    std::vector<std::string> headers;
    headers.reserve(replies.size());  // the rows have views of them
    std::vector<OutboxRow> rows;
    for (const Reply& reply : replies) {
        std::vector<Header> views;
        for (const auto& [name, value] : reply.headers) views.push_back({name, value});
        headers.push_back(header_bytes(views));
        rows.push_back({reply.topic, reply.key, reply.body, headers.back(), reply.id, reply.key,
                        reply.tenant});
    }
    insert_outbox_rows(transaction, group_, rows);
}

}  // namespace onceward
