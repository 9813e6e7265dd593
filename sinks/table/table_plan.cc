#include "sinks/table/table_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"
#include "dedup/postgres/values.h"
#include "dedup/sink/sink.h"
#include "schemas/queries.h"
#include "sinks/columns/conversion_check.h"
#include "sinks/columns/convert.h"

namespace onceward {
namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between = ", ") {
    std::string text;
    for (const std::string& part : parts) text.append(text.empty() ? "" : between).append(part);
    return text;
}

// Collects what is wrong, so that one message shows all of it.
class Judge {
  public:
    Judge(const TableSinkOptions& options, const CatalogTable& table)
        : options_(options), table_(table), name_(table.schema + "." + table.name) {}

    void table() {
        if (table_.kind != 'r' && table_.kind != 'p') {
            return say("is not a plain or partitioned table; write to its underlying table");
        }
        if (table_.persistence != 'p') {
            say("is unlogged or temporary: its rows would not survive a crash that the offsets "
                "survive; make it a plain table (ALTER TABLE ... SET LOGGED)");
        }
        for (const std::string& partition : table_.unsafe_partitions) {
            say("has the partition " + partition +
                ", which is foreign or unlogged and so not part of the transaction");
        }
        const bool copies = options_.mode == TableSinkOptions::Mode::insert &&
                            options_.transport == TableSinkOptions::Transport::copy &&
                            !table_.citus;
        if (copies && table_.row_security) {
            say("has row level security, which COPY cannot pass; write `transport: unnest`");
        }
        if (copies && table_.has_rules) {
            say("has rules, which COPY bypasses; write `transport: unnest`");
        }
        if (!table_.may_insert) say("refuses INSERT to this role; GRANT INSERT ON " + name_);
        if (options_.removes && !table_.may_delete) {
            say("refuses DELETE to this role, and tombstones remove rows; GRANT DELETE ON " +
                name_);
        }
    }

    const CatalogColumn* find(const std::string& column) {
        const auto found = std::ranges::find(table_.columns, column, &CatalogColumn::name);
        if (found != table_.columns.end()) return &*found;
        std::vector<std::string> names;
        for (const CatalogColumn& candidate : table_.columns) names.push_back(candidate.name);
        say("has no column `" + column + "`" + did_you_mean(column, names));
        return nullptr;
    }

    void column(const ColumnOptions& wanted, const CatalogColumn& column) {
        if (!mapped_.insert(column.name).second) say("maps column `" + column.name + "` twice");
        if (column.generated) say("generates column `" + column.name + "` itself; leave it out");
        if (column.identity_always) {
            say("numbers column `" + column.name +
                "` itself (GENERATED ALWAYS AS IDENTITY); leave it out, or make it BY DEFAULT");
        }
        if (upserts() && (!column.may_update || !column.may_select)) {
            say("refuses SELECT or UPDATE of column `" + column.name +
                "` to this role, which an upsert needs; GRANT SELECT, UPDATE ON " + name_);
        }
        const auto type = supported_type(table_, column);
        if (!type) {
            return say("has column `" + column.name + "` of type " + column.type_name +
                       ", which this sink cannot write; make it text, or leave it out");
        }
        for (const std::string& fault : type_faults(wanted, *type)) {
            say("has column `" + column.name + "` of type " + column.type_name + ", which " +
                fault);
        }
        const bool record_time =
            wanted.conversion.steps.empty() &&
            wanted.source.kind == FieldSource::Kind::metadata && wanted.source.text == "timestamp";
        const bool holds_time = type->kind == TypeKind::timestamptz ||
                                type->kind == TypeKind::timestamp || type->kind == TypeKind::text ||
                                type->kind == TypeKind::json || type->kind == TypeKind::jsonb;
        if (record_time && !holds_time) {
            say("has column `" + column.name + "` of type " + column.type_name +
                ", which cannot take a record's timestamp; make it timestamptz");
        }
    }

    void rest() {
        for (const CatalogColumn& column : table_.columns) {
            const bool filled = column.has_default || column.identity || column.generated;
            // Citus would refuse each row, as if the row were bad.
            if (table_.citus && table_.citus->column == column.name && !filled &&
                !mapped_.contains(column.name)) {
                say("is distributed by column `" + column.name + "`, and nothing is mapped to it");
            }
            if (column.not_null && !filled && !mapped_.contains(column.name)) {
                say("demands column `" + column.name +
                    "` (NOT NULL without a default), and nothing is mapped to it");
            }
        }
        if (!upserts()) return;
        if (options_.conflict_target.empty()) say("is upserted, which needs a `conflict_target`");
        const std::set<std::string> target(options_.conflict_target.begin(),
                                           options_.conflict_target.end());
        for (const std::string& name : target) {
            if (!mapped_.contains(name))
                say("has conflict target `" + name + "`, which is not mapped");
        }
        const bool unique = std::ranges::any_of(table_.unique_keys, [&](const auto& key) {
            return std::set<std::string>(key.begin(), key.end()) == target;
        });
        if (!unique && !target.empty()) {
            say("has no unique index on exactly (" + joined(options_.conflict_target) +
                ") that is valid, not partial and not deferrable, as ON CONFLICT demands");
        }
        if (!options_.only_if_newer.empty() && !mapped_.contains(options_.only_if_newer)) {
            say("is upserted only_if_newer by `" + options_.only_if_newer +
                "`, which is not mapped");
        }
    }

    // A value of the table's row type has NULL in each column that it leaves out, and the server
    // checks a domain as soon as it reads the value. No such NULL would be written.
    void domains(const TablePlan& plan) {
        if (plan.tuples) return;
        for (std::size_t at = 0; at < table_.columns.size(); ++at) {
            const CatalogColumn& column = table_.columns[at];
            if (!has_not_null_domain(table_, column)) continue;
            const int at_plan = plan.column_at[at];
            const std::string what = "has column `" + column.name +
                                     "` of a domain that is NOT NULL, which refuses each ";
            const std::string instead = "; let the column be NOT NULL instead of its domain";
            if (at_plan < 0) {
                say(what + "row, as nothing is mapped to it" + instead +
                    (upserts() ? ", or map it" : ", map it, or write `transport: values`"));
            } else if (options_.removes && upserts() &&
                       !plan.columns[static_cast<std::size_t>(at_plan)].key) {
                say(what + "removal, as that has the row's key alone" + instead);
            }
        }
    }

    void verdict() const {
        if (!problems_.empty()) throw SinkMismatch(joined(problems_, "\n"));
    }

  private:
    bool upserts() const { return options_.mode == TableSinkOptions::Mode::upsert; }
    void say(const std::string& what) { problems_.push_back("table " + name_ + " " + what); }
    const TableSinkOptions& options_;
    const CatalogTable& table_;
    std::string name_;
    std::set<std::string> mapped_;
    std::vector<std::string> problems_;
};

std::string update_action(const TableSinkOptions& options, const TablePlan& plan) {
    std::vector<std::string> assignments;
    for (const PlannedColumn& column : plan.columns) {
        if (!column.key) {
            const std::string name = quoted_identifier(column.name);
            assignments.push_back(name + " = excluded." + name);
        }
    }
    if (assignments.empty()) return "NOTHING";
    std::string action = "UPDATE SET " + joined(assignments);
    if (!options.only_if_newer.empty()) {
        const std::string version = quoted_identifier(options.only_if_newer);
        // A row without a version gives way to any that has one; a message without one never
        // replaces a row.
        action += " WHERE target." + version + " < excluded." + version + " OR target." + version +
                  " IS NULL AND excluded." + version + " IS NOT NULL";
    }
    return action;
}

// For these numbers of rows. Each of them is a statement to be prepared.
std::vector<ValueLists> lists_of_values(std::size_t columns,
                                        const std::vector<std::size_t>& counts) {
    const std::vector<std::string_view> types(columns);
    std::vector<ValueLists> lists;
    for (const std::size_t count : counts)
        lists.push_back({count, rows_of_parameters(count, types)});
    return lists;
}

// If all batches are written by VALUES: any number of rows takes a few statements, as a sum of
// powers of 2.
std::vector<std::size_t> counts_of_batches(std::size_t columns) {
    constexpr std::size_t most_rows = 1024;
    constexpr std::size_t most_parameters = 65535;
    std::vector<std::size_t> counts;
    for (std::size_t count = 1; count <= most_rows && count * columns <= most_parameters;
         count *= 2) {
        counts.push_back(count);
    }
    return counts;
}

// If only the parts of a search are written by VALUES: one statement for most of them.
std::vector<std::size_t> counts_of_parts() {
    std::vector<std::size_t> counts(16);
    std::iota(counts.begin(), counts.end(), 1);
    return counts;
}

void write_pieces(const TableSinkOptions& options, const CatalogTable& table, TablePlan& plan) {
    std::vector<std::string> aliases, columns, incoming, keys, target_keys, target;
    for (std::size_t at = 0; at < table.columns.size(); ++at) {
        aliases.push_back("c" + std::to_string(at + 1));
    }
    // Several messages for a row: the last one wins, or the first of those with the highest
    // version, exactly as if they came one by one.
    std::string newest = "position DESC";
    for (const PlannedColumn& column : plan.columns) {
        const std::string alias = "incoming." + aliases[column.place];
        columns.push_back(quoted_identifier(column.name));
        incoming.push_back(alias);
        if (column.key) {
            keys.push_back(alias);
            target.push_back(quoted_identifier(column.name));
            target_keys.push_back("target." + quoted_identifier(column.name));
        }
        if (column.name == options.only_if_newer) newest = alias + " DESC NULLS LAST, position";
    }
    plan.table = table.quoted_name;
    plan.column_list = joined(columns);
    plan.pieces = {{"table", plan.table},
                   {"columns", plan.column_list},
                   {"aliases", joined(aliases)},
                   {"incoming", joined(incoming)},
                   {"keys", joined(keys)},
                   {"target_keys", joined(target_keys)},
                   {"target", joined(target)},
                   {"newest", newest},
                   {"action", update_action(options, plan)}};
    plan.rows_of_values = lists_of_values(
        columns.size(), plan.values ? counts_of_batches(columns.size()) : counts_of_parts());
    if (plan.values && plan.upserts) {
        plan.keys_of_values = lists_of_values(keys.size(), counts_of_batches(keys.size()));
    }
}

}  // namespace

TablePlan make_plan(const TableSinkOptions& options, const CatalogTable& table) {
    Judge judge(options, table);
    judge.table();
    TablePlan plan;
    plan.upserts = options.mode == TableSinkOptions::Mode::upsert;
    plan.values = table.citus || options.transport == TableSinkOptions::Transport::values;
    plan.tuples = !plan.upserts &&
                  (plan.values || options.transport == TableSinkOptions::Transport::copy);
    if (table.citus) plan.note = to_text(*table.citus) + ": rows go by INSERT ... VALUES";
    plan.column_at.assign(table.columns.size(), -1);
    for (std::size_t field = 0; field < options.columns.size(); ++field) {
        const ColumnOptions& wanted = options.columns[field];
        const CatalogColumn* column = judge.find(wanted.name);
        if (column == nullptr) continue;
        judge.column(wanted, *column);
        PlannedColumn planned;
        planned.name = column->name;
        planned.type = supported_type(table, *column).value_or(ColumnType{});
        planned.provenance = provenance_of(wanted.source.kind);
        planned.required = wanted.required;
        planned.conversion = wanted.conversion;
        planned.key = plan.upserts && std::ranges::find(options.conflict_target, column->name) !=
                                          options.conflict_target.end();
        planned.field = field;
        planned.place = static_cast<std::size_t>(column - table.columns.data());
        plan.column_at[planned.place] = static_cast<int>(plan.columns.size());
        plan.columns.push_back(std::move(planned));
    }
    judge.rest();
    judge.domains(plan);
    judge.verdict();
    for (const CatalogColumn& column : table.columns) plan.live_types.push_back(column.type);
    plan.row_type = table.row_type;
    plan.row_array_type = table.row_array_type;
    plan.fingerprint = table.fingerprint;
    plan.fingerprint_query = table.fingerprint_query;
    plan.unchanged =
        replaced(std::string(sql::sink_unchanged), "{fingerprint}", plan.fingerprint_query);
    write_pieces(options, table, plan);
    return plan;
}

}  // namespace onceward
