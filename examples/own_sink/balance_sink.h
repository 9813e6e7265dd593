#pragma once
// Adds each message's amount to its account's balance: an effect that is wrong when it happens
// twice, and that no unique key of the table could protect. Message: {"account": 7, "amount":
// 12.50}.

#include <string>
#include <vector>

#include "dedup/sink/sink.h"

class BalanceSink final : public onceward::Sink {
  public:
    // `table` has the columns `account bigint primary key, balance numeric not null`.
    explicit BalanceSink(std::string table) : table_(std::move(table)) {}

    std::vector<onceward::FieldSource> fields() const override;
    std::optional<onceward::Rejection> encode(onceward::Message& message,
                                              std::pmr::memory_resource& arena) const override;
    void write(onceward::Transaction& transaction, const onceward::BatchContext& context,
               std::span<const onceward::Message* const> messages) override;

  private:
    std::string table_;
};
