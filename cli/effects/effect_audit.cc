#include "cli/effects/effect_audit.h"

#include <nlohmann/json.hpp>

#include "cli/effects/effect_counts.h"
#include "cli/terminal/command.h"
#include "consumer/intake/keys_alone.h"
#include "consumer/intake/message_builder.h"
#include "schemas/queries.h"
#include "sinks/columns/catalog.h"

namespace onceward {
namespace {

constexpr std::size_t page_messages = 5000;
constexpr std::size_t audit_page_bytes = std::size_t{16} << 20;
constexpr std::chrono::seconds read_limit{60};

CatalogTable table_of(Connection& connection, const EffectAudit& audit) {
    std::optional<CatalogTable> table = read_table(connection, audit.table);
    usage_error_if(!table,
                   "there is no table " + audit.table + " in " + connection.database_name());
    for (const CatalogColumn& column : table->columns) {
        if (column.name == audit.column) return *std::move(table);
    }
    throw UsageError("table " + audit.table + " has no column " + audit.column);
}

void count(const EffectAudit& audit, EffectCounts& counts) {
    KeysAlone sink;
    MessageBuilder builder({audit.configuration.group, audit.topic.name, audit.topic.format,
                            audit.topic.key, audit.schemas},
                           sink);
    builder.set_topic_id(audit.topic_id);
    RangeReader reader(audit.configuration.kafka);
    std::int64_t messages = 0;
    for (const Stretch& stretch : audit.stretches) {
        if (stretch.begin >= stretch.end) continue;
        reader.open(stretch);
        for (Offset position = stretch.begin; position < stretch.end;) {
            RecordPage page = reader.page(page_messages, audit_page_bytes, read_limit);
            Chunk chunk;
            for (Record& record : page.records) take_now(builder, std::move(record), chunk);
            for (const Message& message : chunk.messages) {
                if (message.key_text.empty()) {
                    counts.came_without_key();
                } else {
                    counts.came(message.key_text);
                }
            }
            messages += static_cast<std::int64_t>(chunk.messages.size());
            audit.progress(messages);
            position = page.end;
        }
    }
}

}  // namespace

nlohmann::json audit_effects(Connection& connection, const EffectAudit& audit) {
    connection.query(sql::audit_read_only, {});
    const CatalogTable table = table_of(connection, audit);
    EffectCounts counts;
    count(audit, counts);
    const QueryResult answer = connection.query(
        sql::audit_rows, Parameters{counts.keys()},
        {{"table", table.quoted_name}, {"column", connection.quote_identifier(audit.column)}});
    std::vector<std::int64_t> rows;
    for (int row = 0; row < answer.rows(); ++row) rows.push_back(answer.integer(row, 0));
    counts.found(rows);
    return counts.summary();
}

}  // namespace onceward
