#pragma once
// Rows of {schema}.outbox, written in the transaction of the messages that they come from; the
// relay (consumer/relay/relay.h) sends them. Used by the thread that has the transaction. Throws
// PostgresError.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dedup/message/digest.h"
#include "dedup/postgres/transaction.h"
#include "dedup/results/result_replay.h"
#include "dedup/sink/sink.h"

namespace onceward {

// Its views must live until the call that takes it has returned.
struct OutboxRow {
    std::string_view topic;
    std::optional<std::string_view> key;
    std::optional<std::string_view> payload;  // none: a tombstone
    std::string_view headers;                 // see dedup/sink/packed_headers.h
    // DANGER: the id must be the same whenever the same message is processed again, so never take
    // it from a sequence. After a fail-over that lost the transaction, Kafka has the record
    // already.
    Digest id;
    // Rows of a topic with the same order key are sent in their order; those without one, in any.
    std::optional<std::string_view> order_key;
    // Set for a reply: the tenant whose result it holds.
    std::optional<std::string_view> tenant = {};
};

// What a record's id is made of in addition to the message's key: two outboxes may publish the same
// message.
enum class OutboxPlace : std::uint8_t { sink, also_publish };

// The id of the record that the message with this idempotency key becomes in `topic`. Pure.
Digest outbox_id(std::string_view topic, OutboxPlace place, const Digest& key);

void insert_outbox_rows(Transaction& transaction, const std::string& group,
                        std::span<const OutboxRow> rows);
// The same as a statement. REQUIRES: there are rows.
SinkStatement outbox_statement(const std::string& group, std::span<const OutboxRow> rows);

// Replies by the outbox, each in the order of its record's key.
class OutboxReplies final : public Replies {
  public:
    explicit OutboxReplies(std::string group) : group_(std::move(group)) {}
    void write(Transaction& transaction, std::span<const Reply> replies) override;

  private:
    std::string group_;
};

}  // namespace onceward
