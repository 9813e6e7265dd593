#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> sink_options = {
    {"topics[].sink.table", "", into([](To& to) { return &to.table->table; }),
     "The table that messages are written to: `name` or `schema.name`. A sink has either this or "
     "`function`, with `columns`, or `outbox`, or `webhook`."},
    {"topics[].sink.function", "", into([](To& to) { return &to.function->function; }),
     "A function of yours, `name` or `schema.name`, that takes one `jsonb[]` and is called once "
     "for each batch, in its transaction: an object for each message. It returns one row for each, "
     "with a column `ordinality` (from 1) in any order; without that column it is called with one "
     "message at a time if results are used. A row is the message's result: `result_status`, "
     "`result_failed`, `result_headers` and `result_body`. Without `result_body` all other columns "
     "are the body, as one JSON object."},
    {"topics[].sink.mode", "insert",
     into([](To& to) { return &to.table->mode; }, {"insert", "upsert"}),
     "`insert`: a new row for each message. `upsert`: INSERT ... ON CONFLICT (conflict_target) DO "
     "UPDATE."},
    {"topics[].sink.columns", "", into([](To& to) { return &to.table->columns; }),
     "Each column (for a function: each member of the object) and where its value comes from: a "
     "path in the payload as plain text, or a mapping (see *Sources* below). A mapping may add "
     "`required: true`: a message without the value is rejected."},
    {"topics[].sink.conflict_target", "", into([](To& to) { return &to.table->conflict_target; }),
     "Upsert: the columns of the unique index that identifies the row."},
    {"topics[].sink.only_if_newer", "", into([](To& to) { return &to.table->only_if_newer; }),
     "Upsert: the row changes only where this column grows (a version or a time)."},
    {"topics[].sink.transport", "copy",
     into([](To& to) { return &to.table->transport; }, {"copy", "unnest"}),
     "How rows are inserted. `copy`: binary COPY. `unnest`: INSERT ... SELECT from typed arrays, "
     "which also works for views and tables with rules.",
     "`unnest` is slower."},
};

const std::vector<OptionSpec>& option_table() {
    static const std::vector<OptionSpec> table = [] {
        std::vector<OptionSpec> all;
        for (const auto& part :
             {process_options, topic_options, key_and_ledger_options, sink_options,
              outbox_options(), webhook_options, result_options, http_options()}) {
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }();
    return table;
}

}  // namespace onceward
