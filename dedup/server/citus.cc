#include "dedup/server/citus.h"

#include "schemas/queries.h"

namespace onceward {
CitusTable::Kind citus_kind(char method, char model, std::int64_t colocation) {
    // As Citus itself decides it, in IsCitusTableTypeInternal().
    if (method != 'n') return CitusTable::Kind::spread;
    if (model == 't') return CitusTable::Kind::reference;
    return colocation == 0 ? CitusTable::Kind::local : CitusTable::Kind::single_shard;
}

std::string to_text(const CitusTable& table) {
    switch (table.kind) {
        case CitusTable::Kind::spread: return "which Citus distributes by `" + table.column + "`";
        case CitusTable::Kind::single_shard: return "which Citus keeps on one node";
        case CitusTable::Kind::reference: return "which Citus copies to each node";
        case CitusTable::Kind::local: return "a local table that Citus manages";
    }
    return "";
}

std::vector<CitusTable> citus_tables(Connection& connection, std::uint32_t table,
                                     const std::string& schema) {
    const QueryResult rows = connection.query(sql::citus_tables, {table, schema});
    std::vector<CitusTable> tables;
    for (int row = 0; row < rows.rows(); ++row) {
        tables.push_back(
            {.kind = citus_kind(rows.letter(row, 1), rows.letter(row, 2), rows.integer(row, 3)),
             .name = std::string(rows.text(row, 0)),
             .column = std::string(rows.text(row, 4))});
    }
    return tables;
}

std::string distributed_refusal(const std::string& schema, const std::vector<CitusTable>& tables) {
    if (tables.empty()) return "";
    const CitusTable& first = tables.front();
    const std::string others =
        tables.size() == 1 ? "" : ", and " + std::to_string(tables.size() - 1) + " more";
    const std::string remedy = first.kind == CitusTable::Kind::single_shard
                                   ? "citus_schema_undistribute('" + schema + "')"
                                   : "undistribute_table('" + first.name + "')";
    return "schema " + schema + " has the table " + first.name + ", " + to_text(first) + others +
           ". Fences and ledgers have to be local tables of the coordinator: while a node "
           "recovers, a SELECT may miss claims that are committed. Run SELECT " +
           remedy + ". A sink's table may be distributed, in another schema";
}

}  // namespace onceward
