#pragma once
// A table as a test of a configuration declares it, in place of the catalog's. Everything that only
// a database knows (defaults, privileges, constraints) is as the sink wants it. Pure.

#include <string>
#include <vector>

#include "dedup/sink/preview.h"
#include "sinks/columns/catalog.h"

namespace onceward {

// `table` is `name` or `schema.name`. `unique_key`: columns with a unique index on exactly them;
// may be empty. Throws std::invalid_argument for a type that is not known.
CatalogTable declared_table(const std::string& table, const ColumnTypes& columns,
                            const std::vector<std::string>& unique_key);

// A type by its name: one of PostgreSQL's, in any of its spellings, such as `varchar(3)` or
// `timestamp with time zone`, `enum` for any enumeration, and arrays of these. Throws
// std::invalid_argument.
ColumnType declared_type(const std::string& name);

// The name by which a column of the catalog is declared: `enum` for an enumeration, a domain's base
// type, else the type as PostgreSQL prints it.
std::string declarable(const CatalogTable& table, const CatalogColumn& column);

}  // namespace onceward
