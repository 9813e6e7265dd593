#pragma once
// Messages as one call of a function of the user's. It gets an array of JSON objects, one for each
// message, does its work in the transaction, and returns one row for each, which is that message's
// result. One object for each worker and topic. encode() may run on the reader's thread at the same
// time as prepare() and write() on the writer's: they share only the options, which never change.
// write() throws PostgresError, and ResultMismatch if the rows are not one for each message or one
// of them is no valid result. A function whose rows have no number of their own is called with one
// message at a time if its results count: PostgreSQL promises no order of rows.

#include "dedup/sink/sink.h"
#include "sinks/function/function_options.h"

namespace onceward {

class FunctionSink final : public Sink {
  public:
    explicit FunctionSink(FunctionSinkOptions options);
    std::vector<FieldSource> fields() const override { return sources_of(options_.columns); }
    void prepare(Connection& connection) override;
    std::string target_state(Connection& connection) override;
    std::optional<Rejection> encode(Message& message,
                                    std::pmr::memory_resource& arena) const override;
    std::vector<Preview> preview(const Message& message) const override;
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;
    std::vector<MessageResult> take_results() override;
    bool begin_parts(Transaction&) override { return true; }
    std::vector<SinkStatement> part(const BatchContext& context,
                                    std::span<const Message* const> messages) override;
    void part_written(std::span<const QueryResult> answers,
                      std::span<const Message* const> messages) override;

  private:
    std::size_t in_a_call(std::size_t messages) const;
    void take_answer(const QueryResult& rows, std::size_t messages);
    const FunctionSinkOptions options_;
    // What the last prepare() found.
    std::string function_;  // quoted, with its schema
    bool numbers_its_rows_ = false;
    std::vector<MessageResult> results_;
};

}  // namespace onceward
