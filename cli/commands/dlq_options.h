#pragma once
// What the commands of `onceward dlq` share: which letters are meant. Plain values.

#include "cli/dlq/letter_intake.h"
#include "cli/dlq/redrive_plan.h"
#include "cli/operator/operator_options.h"

namespace onceward {

struct DlqOptions : OperatorOptions {
    DeadLetterFilter filter{.limit = 1000};
    RedriveRules rules;
    std::string since;
    std::string until;
    std::int64_t number = 0;
    std::string file;        // of lines, or a payload
    std::string from_topic;  // of dead letters that are sent again
    std::optional<double> rate;
    bool dry_run = false;

    bool really() const { return yes && !dry_run; }
};

// `states`: those that are meant if none is named.
DeadLetterFilter filter_of(const DlqOptions& options, const OperatorSetup& setup,
                           const std::vector<std::string>& states);
// Adds the options of a filter. `changes`: the command needs a topic, and --yes. `limit`: what
// --limit means; '': there is none.
void add_filters(CLI::App& command, DlqOptions& options, bool changes,
                 const char* limit = "At most this many, the oldest first");
// Throws UsageError if --from-topic was given with an option that it cannot have.
void check_from_topic(const DlqOptions& options);
// Reads --from-topic, and says what became of its letters. `filter`: whose they become.
void read_from_topic(const DlqOptions& options, const Configuration& configuration,
                     const DeadLetterFilter& filter, LetterIntake& intake);
// Adds `export` and `import`.
void add_dlq_files(CLI::App& dlq, Commands& commands);

}  // namespace onceward
