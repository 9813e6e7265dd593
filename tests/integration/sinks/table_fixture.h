#pragma once
// A table of its own, and a table sink on it under the worker's role. One for each test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "sinks/table/table_sink.h"
#include "tests/conformance/test_messages.h"
#include "tests/support/postgres.h"

namespace onceward::support {

class TableSinkTest : public testing::Test {
  protected:
    using Mode = TableSinkOptions::Mode;
    using Transport = TableSinkOptions::Transport;

    // Creates `target` and maps these columns to fields in that order.
    void create(const std::string& columns, const std::vector<std::string>& mapped) {
        options_.table = schema_.user_table("target", columns);
        map(mapped);
    }
    void map(const std::vector<std::string>& mapped) {
        options_.columns.clear();
        for (const std::string& name : mapped) {
            options_.columns.push_back({name, {FieldSource::Kind::field, "/" + name}});
        }
    }
    void upsert_by(const std::vector<std::string>& target) {
        options_.mode = Mode::upsert;
        options_.conflict_target = target;
    }
    void prepare() {
        if (!sink_) sink_ = std::make_unique<TableSink>(options_);
        sink_->prepare(connection_);
    }
    // Encodes and writes all messages in one transaction.
    void write(TestMessages& messages) {
        if (!sink_) prepare();
        ASSERT_EQ(messages.encode(*sink_), 0) << first_reason(messages);
        commit(messages);
    }
    void commit(TestMessages& messages) {
        OwnedTransaction transaction(connection_);
        sink_->write(transaction, {"group", "topic"}, messages.all());
        transaction.commit();
    }
    // The SQLSTATE that writing ends with; '' where it ends well.
    std::string sqlstate_of(TestMessages& messages) {
        try {
            commit(messages);
            return "";
        } catch (const PostgresError& error) {
            last_error_ = error.diagnosis();
            return error.sqlstate();
        }
    }
    // What prepare() refuses; '' where it takes the table.
    std::string mismatch() {
        try {
            sink_.reset();
            prepare();
            return "";
        } catch (const SinkMismatch& error) {
            return error.what();
        }
    }
    static std::string first_reason(TestMessages& messages) {
        for (const Message* message : messages.all()) {
            if (message->rejection) return message->rejection->reason;
        }
        return "";
    }
    // Rows as text, fields with a bar between, NULL as a hash.
    std::vector<std::string> rows(const std::string& query) {
        std::vector<std::string> lines;
        for (const Row& row : database().execute(query)) {
            std::string& line = lines.emplace_back();
            for (const auto& field : row) line += (line.empty() ? "" : "|") + field.value_or("#");
        }
        return lines;
    }
    Database& database() { return schema_.database(); }

    FreshSchema schema_;
    Connection connection_{schema_.worker()};
    TableSinkOptions options_;
    std::unique_ptr<TableSink> sink_;
    PostgresError::Diagnosis last_error_;
};

}  // namespace onceward::support
