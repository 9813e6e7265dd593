#pragma once
// Messages as rows of a table of the user's: insert by binary COPY or from one typed array, upsert,
// remove. One object for each worker and topic. encode() may run on the reader's thread at the same
// time as prepare() and write() on the writer's: they share only the plan, which never changes once
// it is made, and a row remembers which plan made it. write() throws PostgresError, and
// SinkMismatch if the table is not what prepare() saw.

#include <memory>

#include "dedup/base/mutex.h"
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
    std::shared_ptr<const Numbered> current() const;
    void prepare(const CatalogTable& table);
    const TableSinkOptions options_;
    mutable Mutex mutex_;
    std::shared_ptr<const Numbered> plan_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
