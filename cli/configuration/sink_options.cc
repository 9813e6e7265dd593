#include "cli/configuration/option_table.h"

namespace onceward {
namespace {
using To = OptionTarget;
using In = OptionValue;

const OptionSpec sink_entries[] = {
    {.path = "topics[].sink.table",
     .meaning = "The table that messages are written to: `name` or `schema.name`. A sink has "
                "either this or `function`, with `columns`, or `outbox`, or `webhook`.",
     .bind = [](To& to, const In& value) { to.table->table = value.text; }},
    {.path = "topics[].sink.function",
     .meaning = "A function of yours, `name` or `schema.name`, that takes one `jsonb[]` and is "
                "called once for each batch, in its transaction: an object for each message. It "
                "returns one row for each, with a column `ordinality` (from 1) in any order; "
                "without that column it is called with one message at a time if results are used. "
                "A row is the message's result: `result_status`, `result_failed`, `result_headers` "
                "and `result_body`. Without `result_body` all other columns are the body, as one "
                "JSON object.",
     .bind = [](To& to, const In& value) { to.function->function = value.text; }},
    {.path = "topics[].sink.mode",
     .type = OptionType::choice,
     .default_text = "insert",
     .meaning = "`insert`: a new row for each message. `upsert`: INSERT ... ON CONFLICT "
                "(conflict_target) DO UPDATE.",
     .bind =
         [](To& to, const In& value) {
             to.table->mode = static_cast<TableSinkOptions::Mode>(value.choice);
         },
     .choices = {"insert", "upsert"}},
    {.path = "topics[].sink.columns",
     .type = OptionType::columns,
     .meaning = "Each column (for a function: each member of the object) and where its value comes "
                "from: a path in the payload as plain text, or a mapping (see *Sources* below). A "
                "mapping may add `required: true`: a message without the value is rejected.",
     .bind = [](To& to,
                const In& value) { to.table->columns = to.function->columns = value.columns; }},
    {.path = "topics[].sink.conflict_target",
     .type = OptionType::texts,
     .meaning = "Upsert: the columns of the unique index that identifies the row.",
     .bind = [](To& to, const In& value) { to.table->conflict_target = value.texts; }},
    {.path = "topics[].sink.only_if_newer",
     .meaning = "Upsert: the row changes only where this column grows (a version or a time).",
     .bind = [](To& to, const In& value) { to.table->only_if_newer = value.text; }},
    {.path = "topics[].sink.transport",
     .type = OptionType::choice,
     .default_text = "copy",
     .meaning = "How rows are inserted. `copy`: binary COPY. `unnest`: INSERT ... SELECT from "
                "typed arrays, which also works for views and tables with rules.",
     .cost = "`unnest` is slower.",
     .bind =
         [](To& to, const In& value) {
             to.table->transport = static_cast<TableSinkOptions::Transport>(value.choice);
         },
     .choices = {"copy", "unnest"}},
};

}  // namespace

std::vector<OptionSpec> sink_options() {
    return {std::begin(sink_entries), std::end(sink_entries)};
}

const std::vector<OptionSpec>& option_table() {
    static const std::vector<OptionSpec> table = [] {
        std::vector<OptionSpec> all;
        for (auto* part : {&process_options, &topic_options, &key_and_ledger_options, &sink_options,
                           &outbox_options, &webhook_options, &result_options, &http_options}) {
            for (OptionSpec& spec : part()) all.push_back(std::move(spec));
        }
        return all;
    }();
    return table;
}

}  // namespace onceward
