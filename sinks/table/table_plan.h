#pragma once
// How a sink's messages become rows of a table: made once from the options and the catalog, and
// never changed after. Pure; make_plan() throws SinkMismatch with everything that is wrong, one
// sentence a line.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinks/columns/catalog.h"
#include "sinks/table/table_options.h"

namespace onceward {

struct PlannedColumn {
    std::string name;
    ColumnType type;
    Provenance provenance = Provenance::field;
    bool required = false;
    ColumnConversion conversion{};
    bool key = false;       // of the conflict target: a row without it could not be found again
    std::size_t field = 0;  // index in Message::fields
    std::size_t place = 0;  // among the table's live columns
};

struct ValueLists {
    std::size_t count = 0;
    std::string text;
};

struct TablePlan {
    bool tuples = true;  // rows are COPY's tuples; else values of the table's row type
    bool upserts = false;
    bool values = false;  // rows travel by INSERT ... VALUES
    std::string note;     // what is special about how the table is written; may be empty
    std::vector<PlannedColumn> columns;     // in the order of the config
    std::vector<std::uint32_t> live_types;  // of every live column, in the table's order
    std::vector<int> column_at;             // for each live column its index in `columns`, or -1
    std::uint32_t row_type = 0;
    std::uint32_t row_array_type = 0;
    std::string fingerprint;        // of the table that this plan was made for
    std::string fingerprint_query;  // asks for the fingerprint of now
    std::string unchanged;          // fails if that is another one
    // Pieces of the statements in schemas/queries/sink_*.sql.
    std::string table;
    std::string column_list;  // "a", "b"
    // All pieces under their names in the statements: `aliases` is c1, c2, ... for all live
    // columns; `incoming`, `keys`, `target_keys` and `target` are columns such as incoming.c1,
    // target."a" and "a"; `newest` is the order in which the first of a row's messages is the one
    // to keep; `action` is UPDATE SET ... or NOTHING.
    std::vector<std::pair<std::string_view, std::string>> pieces;
    // ($1, $2), ($3, $4) for some numbers of rows, ascending from 1: the values of all columns, and
    // those of the key.
    std::vector<ValueLists> rows_of_values;
    std::vector<ValueLists> keys_of_values;
};

TablePlan make_plan(const TableSinkOptions& options, const CatalogTable& table);

}  // namespace onceward
