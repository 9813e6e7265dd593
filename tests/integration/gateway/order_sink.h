#pragma once
// A sink for routes, and a front door for it: each request inserts its key and body, and is
// answered with where it went. A body that begins with `fail` is a permanent failure, one that
// begins with `bad` breaks the table's constraint, `boom` is too.

#include <memory>
#include <string>

#include "gateway/front_door.h"
#include "gateway/to_sink/sink_batcher.h"
#include "tests/support/postgres.h"

namespace onceward::support {

class OrderSink final : public Sink {
  public:
    explicit OrderSink(std::string table) : table_(std::move(table)) {}
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override;
    std::vector<MessageResult> take_results() override { return std::move(results_); }

  private:
    std::string table_;
    std::vector<MessageResult> results_;
};

// `(key text, body text CHECK (body NOT LIKE 'bad%'))`
std::string order_table(FreshSchema& schema);

// A batcher for the route `POST /orders/{id}` on that table.
SinkBatcherOptions order_batcher(const FreshSchema& schema, const std::string& table,
                                 StoreKind store = StoreKind::table);

// A request under that key, as the front door hands it on.
KeyedRequest order(const std::string& key, const std::string& body);

}  // namespace onceward::support
