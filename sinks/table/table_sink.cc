#include "sinks/table/table_sink.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "dedup/base/expects.h"
#include "dedup/base/nearest_name.h"
#include "sinks/columns/catalog.h"
#include "sinks/table/row_encoder.h"
#include "sinks/table/table_plan.h"
#include "sinks/table/table_writer.h"

namespace onceward {

struct TableSink::Numbered {
    std::uint32_t number = 0;
    TablePlan plan;
};

namespace {

constexpr std::size_t number_bytes = sizeof(std::uint32_t);

std::uint32_t number_of(std::string_view encoded) {
    std::uint32_t number = 0;
    if (encoded.size() >= number_bytes) std::memcpy(&number, encoded.data(), number_bytes);
    return number;
}

std::string not_found(Connection& connection, const std::string& table) {
    std::vector<std::string> there = table_names(connection, table);
    // The likeliest first: not all have room.
    std::ranges::stable_sort(there, {}, [&](const std::string& name) {
        return edit_distance(name, table.substr(table.rfind('.') + 1));
    });
    std::string names;
    for (const std::string& name : there) {
        if (names.size() < 200) names += (names.empty() ? "" : ", ") + name;
    }
    return "there is no table `" + table + "`; " +
           (names.empty() ? "its schema holds none that this role can see" : "there are: " + names);
}

std::vector<EncodedRow> rows_of(std::span<const Message* const> messages) {
    std::vector<EncodedRow> rows;
    rows.reserve(messages.size());
    for (const Message* message : messages) {
        rows.push_back({message->encoded, message->operation == Operation::remove});
    }
    return rows;
}

// What the message's row is under a newer plan than the one that it was encoded by.
std::string encoded_anew(const TablePlan& plan, const Message& message) {
    std::string row;
    if (const auto rejection = append_row(plan, message, row)) {
        // A data exception, so that halving finds this message and the dead letters get it.
        PostgresError::Diagnosis diagnosis;
        diagnosis.sqlstate = "22000";
        diagnosis.message = rejection->reason;
        throw PostgresError(std::move(diagnosis));
    }
    return row;
}

// Takes the number of the plan from each row. `anew` holds the rows that another plan made.
void take_numbers(std::uint32_t number, const TablePlan& plan,
                  std::span<const Message* const> messages, std::vector<EncodedRow>& rows,
                  std::deque<std::string>& anew) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::string_view& bytes = rows[i].bytes;
        // DANGER: rows that wait in a queue while the table changes were encoded for its old
        // columns, and guard_table() compares the new ones. COPY would take an int8 of theirs for
        // a float8.
        if (number_of(bytes) != number) {
            bytes = anew.emplace_back(encoded_anew(plan, *messages[i]));
        } else {
            bytes.remove_prefix(number_bytes);
        }
    }
}

}  // namespace

TableSink::TableSink(TableSinkOptions options) : options_(std::move(options)) {}
TableSink::~TableSink() = default;

std::vector<FieldSource> TableSink::fields() const {
    std::vector<FieldSource> sources;
    for (const ColumnOptions& column : options_.columns) sources.push_back(column.source);
    return sources;
}

std::shared_ptr<const TableSink::Numbered> TableSink::current() const {
    const MutexLock lock(mutex_);
    return plan_;
}

void TableSink::prepare(Connection& connection) {
    const auto table = read_table(connection, options_.table);
    if (!table) throw SinkMismatch(not_found(connection, options_.table));
    TablePlan plan = make_plan(options_, *table);
    const auto before = current();
    // The same table as before: what the reader has encoded meanwhile stays good.
    if (before && before->plan.fingerprint == plan.fingerprint) return;
    const std::uint32_t number = before ? before->number + 1 : 1;
    auto made = std::make_shared<const Numbered>(Numbered{number, std::move(plan)});
    const MutexLock lock(mutex_);
    plan_ = std::move(made);
}

std::string TableSink::target_state(Connection& connection) {
    return table_state(connection, options_.table);
}

std::optional<Rejection> TableSink::encode(Message& message,
                                           std::pmr::memory_resource& arena) const {
    const auto plan = current();
    expects(plan != nullptr, "a table is prepared before rows are encoded for it");
    thread_local std::string row;
    row.assign(reinterpret_cast<const char*>(&plan->number), number_bytes);
    if (auto rejection = append_row(plan->plan, message, row)) return rejection;
    message.encoded = keep(arena, row);
    return std::nullopt;
}

void TableSink::write(Transaction& transaction, const BatchContext&,
                      std::span<const Message* const> messages) {
    if (messages.empty()) return;
    const auto plan = current();
    std::vector<EncodedRow> rows;
    guard_table(transaction, plan->plan, [&] { rows = rows_of(messages); });
    std::deque<std::string> anew;
    take_numbers(plan->number, plan->plan, messages, rows, anew);
    write_rows(transaction, plan->plan, rows);
}

bool TableSink::begin_parts(Transaction& transaction) {
    guard_table(transaction, current()->plan, {});
    return true;
}

std::vector<SinkStatement> TableSink::part(const BatchContext&,
                                           std::span<const Message* const> messages) {
    const auto plan = current();
    std::vector<EncodedRow> rows = rows_of(messages);
    std::deque<std::string> anew;
    take_numbers(plan->number, plan->plan, messages, rows, anew);
    return row_statements(plan->plan, rows);
}

}  // namespace onceward
