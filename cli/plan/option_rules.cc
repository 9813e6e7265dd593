#include "cli/plan/option_rules.h"

#include <algorithm>
#include <span>

namespace onceward {
namespace {

using Level = Consequence::Level;

struct Rule {
    const char* option;  // a whole name; what ends with `.` or `[` is the beginning of one
    Level level;
    bool reloads;
    const char* text;
    const char* instead = "";
};

constexpr const char* wait_for_zero =
    "change the senders when the topic's lag is 0, and restart then";
constexpr const char* same_effects =
    "replay what the new target has to have: `onceward replay --help`";

// What may be changed while workers run: the policies, whose rules say so. An option that is not
// here takes effect with a restart.
constexpr Rule topic_rules[] = {
    {"start", Level::safe, true,
     "partitions without a fence begin elsewhere; those with one do not"},
    {"start_fallback", Level::safe, true,
     "partitions without a fence and a committed offset begin elsewhere"},
    {"on_out_of_range", Level::safe, true, "what happens when the log has lost the fence's offset"},
    {"on_reject", Level::safe, true, "what happens with a message that cannot be applied"},
    {"reject_cap.", Level::safe, true, "at which share of rejected messages the topic halts"},
    {"retries.", Level::safe, true, "how often a message is tried before it is rejected"},
    {"dead_letters.", Level::restart, false,
     "dead letters are published elsewhere, or with other headers; those that were made before are "
     "not published again"},
    {"order", Level::safe, true, "what a dead letter means for the messages after it"},
    {"hot_key.", Level::safe, true, "how many messages of one key are processed within a window"},
    {"rowless", Level::safe, true, "what happens with a change event without a row"},
    {"key.on_missing", Level::safe, true, "what happens with a message without a key"},
    {"key.on_invalid", Level::safe, true, "what happens with a key that breaks the rules"},
    {"key.on_conflict", Level::safe, true, "what happens with a conflict"},
    {"key.charset", Level::danger, false,
     "a key that is a UUID may be another one: with `uuid` it is read in lower case",
     "keep it for one retention after the last message with an old key"},
    {"format", Level::danger, false,
     "messages that wait in the old format do not fit and are rejected", wait_for_zero},
    {"framing", Level::danger, false,
     "messages that wait in the old framing do not fit and are rejected", wait_for_zero},
    {"registry", Level::danger, false,
     "messages that wait name their schemas by the ids of the old registry", wait_for_zero},
    {"envelope", Level::danger, false,
     "messages that wait in the old envelope are read in another way", wait_for_zero},
    {"protobuf.message", Level::danger, false,
     "messages of the old type that wait are read as the new one", wait_for_zero},
    {"sink.table", Level::danger, false,
     "what was applied is in the old table alone: its keys are duplicates, also for the new one",
     same_effects},
    {"sink.function", Level::danger, false,
     "what was applied was given to the old function alone: its keys are duplicates",
     same_effects},
    {"sink.outbox.topic", Level::danger, false,
     "what was published is in the old topic alone: its keys are duplicates", same_effects},
    {"sink.webhook.url", Level::danger, false,
     "what was called was called at the old address alone: its keys are duplicates", same_effects},
    {"database", Level::danger, false,
     "the other server has no claim, fence or dead letter of the topic: it halts there until it is "
     "told where to begin, and finds no duplicate of what was applied before",
     "docs/operations/servers.md says how a topic moves"},
};

constexpr Rule process_rules[] = {
    {"group", Level::danger, false,
     "the new group has no fence: each partition begins where `start` says, so that messages are "
     "read again or not at all",
     "keep the group; or set its fences first with `onceward offsets --set`"},
    {"postgres.schema", Level::danger, false,
     "the other schema has other claims, fences and dead letters: what was applied is not known "
     "there",
     "keep the schema"},
    {"postgres.dsn", Level::restart, false,
     "the workers log in elsewhere: if that is another database, it has no claim of this one"},
    {"kafka.bootstrap_servers", Level::restart, false,
     "the workers ask other brokers: if these are of another cluster, no fence fits its logs"},
    {"workers", Level::restart, false, "the partitions are spread over another number of members"},
    {"batch.", Level::restart, false, "transactions become larger or smaller"},
    {"kafka.instance_id", Level::restart, false,
     "the members are new to the group: nobody reads their partitions until the old ones' session "
     "ends"},
};

bool fits(const Rule& rule, const std::string& option) {
    const std::string_view wanted = rule.option;
    return wanted.ends_with('.') ? option.starts_with(wanted) : option == wanted;
}

Consequence judged(std::span<const Rule> rules, const std::string& option) {
    const auto rule =
        std::ranges::find_if(rules, [&](const Rule& one) { return fits(one, option); });
    if (rule == rules.end()) {
        return {.level = Level::restart, .option = option, .text = "it is another value"};
    }
    return {.level = rule->level,
            .reloads = rule->reloads,
            .option = option,
            .text = rule->text,
            .instead = rule->instead};
}

// Policies by which a message is passed, or applied as often as it is sent. Somebody wants that, or
// has confused the policy with another one.
void warn_of(Consequence& policy, const std::string& text, const std::string& instead) {
    policy.level = Level::danger;
    policy.text = text;
    policy.instead = instead;
}

void judge_key_policy(Consequence& policy, KeyPolicy chosen, const std::string& which) {
    if (chosen == KeyPolicy::derive) {
        warn_of(policy, "a message " + which + " is applied as often as it was produced",
                "`reject` puts it into the dead letters");
    } else if (chosen == KeyPolicy::skip) {
        warn_of(policy, "a message " + which + " is not applied and left nowhere, only counted",
                "`reject` puts it into the dead letters");
    }
}

}  // namespace

Consequence judge_topic_option(const TopicConfiguration& next, const std::string& option) {
    Consequence made = judged(topic_rules, option);
    made.topic = next.name;
    if (option == "key.on_missing") judge_key_policy(made, next.key.on_missing, "without a key");
    if (option == "key.on_invalid") {
        judge_key_policy(made, next.key.on_invalid, "whose key breaks the rules");
    }
    if (option == "key.on_conflict" &&
        next.reject.conflict_action() == RejectPolicy::OnConflict::ignore) {
        warn_of(made, "a conflict is not applied and left nowhere, only counted",
                "`dead_letter` keeps it");
    }
    if (option == "on_out_of_range" && next.on_out_of_range != OutOfRangePolicy::halt) {
        warn_of(made, "offsets that the log has lost are passed, with a row in skipped_ranges",
                "`halt` halts the partition until somebody decides");
    }
    return made;
}

Consequence judge_process_option(const std::string& path) {
    const bool of_keys = path.starts_with("http.routes[") && (path.find("].key.") != path.npos ||
                                                              path.find("].ledger.") != path.npos);
    if (of_keys) {
        return {.level = Level::danger,
                .option = path,
                .text = "the route may not find the keys of requests that were carried out: a "
                        "client that sends one again has it carried out again",
                .instead = "keep it for one retention after the last request that may be repeated"};
    }
    return judged(process_rules, path);
}

}  // namespace onceward
