#include "cli/describe/topic_contract.h"

#include <algorithm>

#include "gateway/contract/describe.h"

namespace onceward {
namespace {

std::string fields_words(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t at = 0; at < names.size(); ++at) {
        const char* const before = at == 0 ? "" : at + 1 == names.size() ? " and " : ", ";
        text += before + names[at];
    }
    return text + " together, as a JSON array of texts";
}

std::string source_words(const KeySource& source) {
    switch (source.kind) {
        case KeySource::Kind::header:
            return "the header " + source.name +
                   (source.strip_quotes ? " (in double quotes, RFC 8941, or without)" : "");
        case KeySource::Kind::record_key: return "the record's key";
        case KeySource::Kind::field: return "the field " + source.name;
        case KeySource::Kind::fields: return "the fields " + fields_words(source.names);
        case KeySource::Kind::change:
            return "the place of the change in its database's log, and the record's key";
        case KeySource::Kind::cloudevents: return "CloudEvents' source and id";
        case KeySource::Kind::payload_sha256: return "the payload itself";
        case KeySource::Kind::coordinates: return "Kafka's topic, partition and offset";
    }
    return {};
}

bool minted(const KeySource& source) {
    return source.kind != KeySource::Kind::payload_sha256 &&
           source.kind != KeySource::Kind::coordinates;
}

std::string key_words(const KeyOptions& key) {
    const bool by_producer = std::ranges::any_of(key.sources, minted);
    std::string text;
    for (const KeySource& source : key.sources) {
        const char* const before = !text.empty() ? ", else "
                                   : by_producer ? "minted by the producer: "
                                                 : "";
        text += before + source_words(source);
    }
    return text;
}

// Indexed by KeyOptions::Charset.
constexpr const char* charset_words[] = {"any but NUL", "printable ASCII", "a UUID"};

std::string format_words(const KeyOptions& key) {
    return std::to_string(key.length_min) + " to " + std::to_string(key.length_max) + " bytes, " +
           charset_words[static_cast<int>(key.charset)] +
           (key.pattern.empty() ? "" : ", all of it as `" + key.pattern + "` says") +
           "; taken as it is: nothing is trimmed or folded";
}

std::string policy_words(KeyPolicy policy, const RejectPolicy& reject) {
    switch (policy) {
        case KeyPolicy::reject:
            return reject.action == RejectPolicy::Action::halt
                       ? "the topic halts before it"
                       : "a dead letter: not applied, and nothing is claimed";
        case KeyPolicy::derive:
            return "applied under Kafka's topic, partition and offset: what is produced twice is "
                   "applied twice";
        case KeyPolicy::skip: return "not applied: skipped, and counted";
    }
    return {};
}

// Indexed by FingerprintOptions::Of; '' if nothing is compared.
constexpr const char* conflict_words[] = {"", "another payload",
                                          "other values in the chosen fields"};

// Indexed by RejectPolicy::OnConflict.
constexpr const char* conflict_ends[] = {"a dead letter of the class `conflict`",
                                         "counted, and lost", "the topic halts before it"};

class TopicPage {
  public:
    TopicPage(const TopicConfiguration& topic, const LedgerOptions& ledger)
        : topic_(topic), ledger_(ledger) {}

    std::string text() {
        text_ = "topic " + topic_.name + "\n";
        add_key();
        const bool partition = ledger_.reach == Reach::partition;
        line("scope", "operation `" + topic_.key.operation + "`" +
                          (topic_.key.tenant ? ", within the tenant of the message" : "") +
                          (partition ? ", within its partition" : ""));
        if (ledger_.store == StoreKind::lease) {
            add_call();
        } else {
            line("claimed", "in the transaction that writes: both or none");
            for (const OutboxOptions* outbox : outboxes_of(topic_)) {
                line("published", "to `" + outbox->topic +
                                      "`, at least once for each key that is applied; all copies "
                                      "have the same `onceward-id`");
            }
        }
        add_repeat();
        line("remembered", duration_words(ledger_.retention) + " of the log's time" +
                               (ledger_.store == StoreKind::lease ? " after its end" : "") +
                               ", ledger `" + ledger_.name +
                               "`: produce again within that; later the key is new");
        return text_ + "\n";
    }

  private:
    void line(const std::string& name, const std::string& words) {
        text_ +=
            "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + words + "\n";
    }
    // Who mints the keys, their format, and what becomes of a message that has none or a bad one.
    void add_key() {
        const KeyOptions& key = topic_.key;
        const bool has_format = std::ranges::any_of(key.sources, minted);
        line("key", key_words(key));
        if (has_format) line("format", format_words(key));
        line(key.tenant ? "no key, tenant" : "no key", policy_words(key.on_missing, topic_.reject));
        if (has_format) line("invalid key", policy_words(key.on_invalid, topic_.reject));
    }
    // What docs/semantics.md has under "Effects outside PostgreSQL".
    void add_call() {
        line("claimed", "before the call, in a transaction of its own, under a lease of " +
                            duration_words(std::chrono::ceil<std::chrono::seconds>(ledger_.lease)) +
                            "; the call's end is written in another one");
        std::string passing = "3xx, 5xx, 408, 425, 429";
        if (const auto* webhook = std::get_if<WebhookOptions>(&topic_.sink)) {
            for (const int status : webhook->retry_on) passing += ", " + std::to_string(status);
            line("downstream", webhook->key_header +
                                   ", derived from the key, the same on each try: where the other "
                                   "side honours it, its effect happens once");
        }
        line("called", "at least once: again after " + passing +
                           ", where its answer was lost, and where the lease ended without one");
        const bool halts = topic_.reject.action == RejectPolicy::Action::halt;
        line("failed",
             halts ? "a refusal for good (any other 4xx) halts the topic before the message and "
                     "frees its key"
                   : "a refusal for good (any other 4xx) is a dead letter and ends the key: "
                     "repeats get the same failure until the dead letter is redriven or the key is "
                     "forgotten");
    }
    void add_repeat() {
        line("repeat",
             "counted, without effect; one that comes meanwhile waits for the first "
             "one's end");
        if (replies(topic_)) {
            line("reply", "at the topic `" + topic_.answers.reply.topic +
                              "`, at least once; a repeat gets the first one's result again, "
                              "marked `onceward-replayed: true`");
        }
        const std::string other = conflict_words[static_cast<int>(topic_.key.fingerprint.of)];
        line("conflict",
             other.empty() ? "none: any request under the same key is a repeat"
                           : "the same key with " + other + " is not applied: " +
                                 conflict_ends[static_cast<int>(topic_.reject.conflict_action())]);
    }

    const TopicConfiguration& topic_;
    const LedgerOptions& ledger_;
    std::string text_;
};

}  // namespace

std::string topic_contracts(const Configuration& configuration) {
    std::string text;
    for (const TopicConfiguration& topic : configuration.topics) {
        text += TopicPage(topic, configuration.ledgers.at(topic.ledger)).text();
    }
    return text;
}

}  // namespace onceward
