#pragma once
// Messages as records of another topic, through the outbox: a row for each in the transaction of
// its claim. One object for each worker and topic. encode() may run on the reader's thread at the
// same time as write() on the writer's; nothing changes after the construction. Throws
// PostgresError.

#include <memory>

#include "dedup/sink/sink.h"
#include "sinks/outbox/outbox_options.h"
#include "sinks/outbox/outbox_rows.h"

namespace onceward {

class OutboxSink final : public Sink {
  public:
    // `first_field`: where its fields begin among a message's.
    explicit OutboxSink(OutboxOptions options, OutboxPlace place = OutboxPlace::sink,
                        std::size_t first_field = 0);
    std::vector<FieldSource> fields() const override { return sources_of(options_); }
    // Only checks whether the message makes a record. write() makes the bytes again, which costs
    // less than the row and keeps Message::encoded for the other sink.
    std::optional<Rejection> encode(Message& message,
                                    std::pmr::memory_resource& arena) const override;
    std::vector<Preview> preview(const Message& message) const override;
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;
    bool begin_parts(Transaction&) override { return true; }
    std::vector<SinkStatement> part(const BatchContext& context,
                                    std::span<const Message* const> messages) override;

  private:
    std::vector<OutboxRow> make_rows(std::span<const Message* const> messages,
                                     std::pmr::memory_resource& arena) const;
    std::optional<Rejection> make_row(const Message& message, std::pmr::memory_resource& arena,
                                      OutboxRow& row) const;
    const OutboxOptions options_;
    const OutboxPlace place_;
    const std::size_t first_field_;
};

// A sink and an outbox: both write in one transaction, or neither does.
class AlsoPublishSink final : public Sink {
  public:
    AlsoPublishSink(std::unique_ptr<Sink> sink, OutboxOptions options);
    std::vector<FieldSource> fields() const override;
    void prepare(Connection& connection) override { sink_->prepare(connection); }
    std::string target_state(Connection& connection) override {
        return sink_->target_state(connection);
    }
    void prepare_offline(const ColumnTypes& columns) override { sink_->prepare_offline(columns); }
    std::vector<Preview> preview(const Message& message) const override;
    std::optional<Rejection> encode(Message& message,
                                    std::pmr::memory_resource& arena) const override;
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;
    std::vector<MessageResult> take_results() override { return sink_->take_results(); }
    std::string note() const override { return sink_->note(); }
    bool begin_parts(Transaction& transaction) override { return sink_->begin_parts(transaction); }
    std::vector<SinkStatement> part(const BatchContext& context,
                                    std::span<const Message* const> messages) override;
    void part_written(std::span<const QueryResult> answers,
                      std::span<const Message* const> messages) override;

  private:
    std::unique_ptr<Sink> sink_;
    const std::vector<FieldSource> sink_fields_;
    OutboxSink outbox_;
};

}  // namespace onceward
