#pragma once
// Messages as rows of a table of the user's: insert by binary COPY, from one typed array or by
// VALUES, upsert, remove. One object for each worker and topic. encode() may run on the reader's
// thread at the same time as prepare() and write() on the writer's: they share only the plan, which
// never changes once it is made, and a row remembers which plan made it. write() throws
// PostgresError, and SinkMismatch if the table is not what prepare() saw.

#include <atomic>
#include <memory>
#include <vector>

#include "dedup/sink/sink.h"
#include "sinks/table/table_options.h"

namespace onceward {

struct CatalogTable;
struct TablePlan;

class TableSink final : public Sink {
  public:
    explicit TableSink(TableSinkOptions options);
    ~TableSink() override;
    std::vector<FieldSource> fields() const override { return sources_of(options_.columns); }
    void prepare(Connection& connection) override;
    std::string target_state(Connection& connection) override;
    std::string note() const override;
    std::optional<Rejection> encode(Message& message,
                                    std::pmr::memory_resource& arena) const override;
    void prepare_offline(const ColumnTypes& columns) override;
    std::vector<Preview> preview(const Message& message) const override;
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;
    std::optional<std::vector<SinkStatement>> at_once(
        const BatchContext& context, std::span<const Message* const> messages) override;
    bool begin_parts(Transaction& transaction) override;
    std::vector<SinkStatement> part(const BatchContext& context,
                                    std::span<const Message* const> messages) override;

  private:
    // A plan with its number, which precedes every row that it made.
    struct Numbered;
    // Null before the first prepare(); else it lives as long as the sink.
    const Numbered* current() const { return current_.load(std::memory_order_acquire); }
    void prepare(const CatalogTable& table);
    const TableSinkOptions options_;
    // The writer's thread makes one for each change of the table. All are kept, since the reader
    // may still encode by an older one.
    std::vector<std::unique_ptr<const Numbered>> plans_;
    std::atomic<const Numbered*> current_{nullptr};
};

}  // namespace onceward
