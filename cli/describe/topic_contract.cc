#include "cli/describe/topic_contract.h"

#include "gateway/describe.h"

namespace onceward {
namespace {

std::string source_words(const KeySource& source) {
    switch (source.kind) {
        case KeySource::Kind::header: return "the header " + source.name;
        case KeySource::Kind::record_key: return "the record's key";
        case KeySource::Kind::field: return "the field " + source.name;
        case KeySource::Kind::cloudevents: return "CloudEvents' source and id";
        case KeySource::Kind::payload_sha256: return "the payload itself";
        case KeySource::Kind::coordinates: return "Kafka's topic, partition and offset";
    }
    return {};
}

std::string key_words(const KeyOptions& key) {
    std::string text;
    for (const KeySource& source : key.sources) {
        text += (text.empty() ? "minted by the producer: " : ", else ") + source_words(source);
    }
    return text;
}

std::string conflict_words(const FingerprintOptions& fingerprint) {
    switch (fingerprint.of) {
        case FingerprintOptions::Of::none:
            return "none: whatever comes under the same key is a "
                   "repeat";
        case FingerprintOptions::Of::payload:
            return "the same key with another payload is not "
                   "applied";
        case FingerprintOptions::Of::fields:
            return "the same key with other values in the chosen "
                   "fields is not applied";
    }
    return {};
}

std::string line(const std::string& name, const std::string& text) {
    return "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + text + "\n";
}

}  // namespace

std::string topic_contracts(const Configuration& configuration) {
    std::string text;
    for (const TopicConfiguration& topic : configuration.topics) {
        const LedgerOptions& ledger = configuration.ledgers.at(topic.ledger);
        const bool partition = ledger.reach == Reach::partition;
        text += "topic " + topic.name + "\n";
        text += line("key", key_words(topic.key));
        text += line("scope", "operation `" + topic.key.operation + "`" +
                                  (topic.key.tenant ? ", within the tenant of the message" : "") +
                                  (partition ? ", within its partition" : ""));
        text += line("claimed", "in the transaction that writes: both or none");
        text += line("repeat",
                     "counted, without effect; one that comes meanwhile waits for the "
                     "first one's end");
        text += line("conflict", conflict_words(topic.key.fingerprint));
        text += line("remembered", duration_words(ledger.retention) +
                                       " of the log's time, ledger `" + ledger.name +
                                       "`: produce again within that; later the key "
                                       "is new");
        text += "\n";
    }
    return text;
}

}  // namespace onceward
