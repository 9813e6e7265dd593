#include "cli/connectors/connector_topics.h"

#include <algorithm>
#include <regex>

#include "cli/configuration/yaml_text.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr const char* unknown_topic = "replace-with-a-topic";

// `shop[.](orders|items)` -> both topics; nullopt if it may match more than such a list.
std::optional<std::vector<std::string>> topics_of_pattern(std::string pattern) {
    pattern = replaced(std::move(pattern), "\\.", ".");
    pattern = replaced(std::move(pattern), "[.]", ".");
    if (pattern.starts_with('^')) pattern.erase(0, 1);
    if (pattern.ends_with('$')) pattern.pop_back();
    static const std::regex shape(R"(([\w.-]*)(?:\(([\w.|-]+)\))?([\w.-]*))");
    std::smatch parts;
    if (!std::regex_match(pattern, parts, shape)) return std::nullopt;
    if (!parts[2].matched) return std::vector{pattern};
    std::string choices = parts[2];
    std::ranges::replace(choices, '|', ',');
    std::vector<std::string> topics = split_list(choices);
    for (std::string& topic : topics) topic = parts[1].str() + topic + parts[3].str();
    return topics;
}

std::vector<std::string> topic_names(ConnectorOptions& options, ConnectorPlan& plan) {
    std::vector<std::string> names = options.list("topics");
    const std::string pattern = options.text("topics.regex", "");
    if (!names.empty()) return names;
    if (const auto topics = topics_of_pattern(pattern); topics && !pattern.empty()) return *topics;
    plan.notes.push_back({"topics.regex",
                          "Topics are named, never matched. Repeat the topic below "
                          "for each that `" +
                              pattern + "` matches."});
    return {unknown_topic};
}

// Debezium's sources name topics `prefix.schema.table`.
void replace_source_parts(std::string& name, const std::string& topic) {
    std::string dotted = topic;
    std::ranges::replace(dotted, '.', ',');
    const std::vector<std::string> parts = split_list(dotted);
    const auto from_end = [&](std::size_t count) {
        return parts.size() >= count ? parts[parts.size() - count] : std::string();
    };
    name = replaced(std::move(name), "${source.table}", from_end(1));
    name = replaced(std::move(name), "${source.schema}", from_end(2));
    name = replaced(std::move(name), "${source.db}", from_end(parts.size() > 3 ? 3 : 2));
}

// `name` or `schema.name`.
std::string last_two(const std::string& name, const std::string& option,
                     std::vector<ConnectorNote>& notes) {
    const std::size_t last = name.find_last_of('.');
    if (last == std::string::npos || last == 0) return name;
    const std::size_t first = name.find_last_of('.', last - 1);
    if (first == std::string::npos) return name;
    notes.push_back({option, "The table's name `" + name + "` has more than a schema before it. `" +
                                 name.substr(first + 1) + "` was taken."});
    return name.substr(first + 1);
}

struct TableRules {
    const ConnectorTables& tables;
    std::string format;
    std::string option;
    bool fold = false;
};

std::string table_of(const std::string& topic, const TableRules& rules, ConnectorPlan& plan) {
    std::string route = routed(topic, rules.tables.transforms);
    if (rules.tables.debezium) std::ranges::replace(route, '.', '_');
    std::string name = rules.format;
    replace_source_parts(name, topic);
    name = replaced(std::move(name), "${topic}", route);
    for (char& letter : name) {
        if (letter == '-' && rules.tables.debezium) letter = '_';
    }
    if (rules.fold) name = lower_case(name);
    if (name.find('.') == std::string::npos && !rules.tables.default_schema.empty()) {
        name = rules.tables.default_schema + "." + name;
    }
    return last_two(name, rules.option, plan.notes);
}

std::string path_of(const std::string& field, const ConnectorTables& tables, bool dotted) {
    const std::string separator = dotted ? "." : "/";
    std::string name = field;
    const std::string& delimiter = tables.transforms.delimiter;
    if (!delimiter.empty()) name = replaced(std::move(name), delimiter, separator);
    const std::string prefix = tables.path_prefix.empty() ? "" : tables.path_prefix + separator;
    return (dotted ? "" : "/") + prefix + name;
}

class Columns {
  public:
    Columns(const ConnectorTables& tables, std::string format, bool fold)
        : tables_(tables), format_(std::move(format)), fold_(fold) {}

    void field(const std::string& name, bool required) {
        const auto& transforms = tables_.transforms;
        if (std::ranges::find(transforms.left_out, name) != transforms.left_out.end()) return;
        const auto renamed = transforms.renamed.find(name);
        const std::string from = renamed == transforms.renamed.end() ? name : renamed->second;
        source(name, path_of(from, tables_, format_ == "protobuf"), required);
    }
    void source(const std::string& name, const std::string& from, bool required = false) {
        const std::string column = fold_ ? lower_case(name) : name;
        if (std::ranges::find(all, column, &ConnectorColumn::name) != all.end()) return;
        all.push_back({column, from, required});
    }

    std::vector<ConnectorColumn> all{};

  private:
    const ConnectorTables& tables_;
    std::string format_;
    bool fold_;
};

// The columns of the primary key, which become the upsert's conflict target.
std::vector<std::string> add_key_columns(ConnectorOptions& options, const ConnectorTables& tables,
                                         Columns& columns, bool upsert, ConnectorPlan& plan) {
    const std::string mode = lower_case(options.either("pk.mode", "primary.key.mode", "none"));
    std::vector<std::string> names =
        split_list(options.either("pk.fields", "primary.key.fields", ""));
    if (mode == "kafka") {
        if (names.size() != 3) {
            names = {"__connect_topic", "__connect_partition", "__connect_offset"};
        }
        columns.source(names[0], "{metadata: topic}", true);
        columns.source(names[1], "{metadata: partition}", true);
        columns.source(names[2], "{metadata: offset}", true);
        return names;
    }
    if (names.empty() && mode == "record_key") names = tables.transforms.key_fields;
    if (names.empty() && upsert) {
        names = {"id"};
        plan.notes.push_back({"pk.fields",
                              "The connector takes all fields of its key, which this "
                              "file does not show. `id` was taken."});
    }
    for (const std::string& name : names) {
        if (plan.format == "raw" && mode == "record_key") {
            columns.source(name, "{metadata: record_key}", upsert);
        } else if (mode == "record_header" || plan.format == "raw") {
            columns.source(name, "{header: " + yaml_value(name) + "}", upsert);
        } else {
            columns.field(name, upsert);
        }
    }
    return names;
}

// Debezium's entries are `topic:field` or `field`.
std::vector<std::string> named_fields(ConnectorOptions& options) {
    std::vector<std::string> names = options.list("fields.whitelist");
    for (const std::string& entry : options.list("field.include.list")) {
        names.push_back(entry.substr(entry.find_last_of(':') + 1));
    }
    return names;
}

void add_columns(ConnectorOptions& options, const ConnectorTables& tables, Columns& columns,
                 ConnectorPlan& plan) {
    std::vector<std::string> names = named_fields(options);
    const bool listed = !names.empty() || !tables.transforms.only.empty();
    names.insert(names.end(), tables.transforms.only.begin(), tables.transforms.only.end());
    if (plan.format != "raw") {
        for (const std::string& name : names) columns.field(name, false);
        for (const auto& [name, from] : tables.transforms.renamed) columns.field(name, false);
    }
    for (const ConnectorColumn& column : tables.transforms.added) {
        columns.source(column.name, column.source);
    }
    if (columns.all.empty()) {
        const bool whole = plan.format == "json" || plan.format == "avro";
        columns.source("payload", whole ? "" : "{metadata: payload}");
    }
    if (!listed) {
        plan.notes.push_back({"fields",
                              "The connector takes all fields that a message has. Add a "
                              "column for each of them below `columns`."});
    }
}

}  // namespace

void plan_topics(ConnectorOptions& options, const ConnectorTables& tables, ConnectorPlan& plan) {
    const bool quotes =
        tables.debezium ? options.flag("quote.identifiers", false)
                        : lower_case(options.text("quote.sql.identifiers", "always")) != "never";
    const std::string mode = lower_case(options.text("insert.mode", "insert"));
    const bool upsert = mode != "insert";
    if (mode == "update") {
        plan.notes.push_back({"insert.mode",
                              "`update` changes rows that are there. Here it became "
                              "`upsert`, which adds the others too."});
    }
    Columns columns(tables, plan.format, !quotes);
    std::vector<std::string> target = add_key_columns(options, tables, columns, upsert, plan);
    add_columns(options, tables, columns, plan);
    if (!quotes) std::ranges::transform(target, target.begin(), lower_case);
    const bool collection = options.has("collection.name.format");
    const TableRules rules{
        tables, options.either("collection.name.format", "table.name.format", "${topic}"),
        collection ? "collection.name.format" : "table.name.format", !quotes};
    for (const std::string& name : topic_names(options, plan)) {
        plan.topics.push_back({name, table_of(name, rules, plan), columns.all,
                               upsert ? target : std::vector<std::string>{}});
    }
}

}  // namespace onceward
