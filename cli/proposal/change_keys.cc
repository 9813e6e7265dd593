#include "cli/proposal/change_keys.h"

#include <set>

#include "consumer/intake/keys_alone.h"
#include "consumer/intake/message_builder.h"

namespace onceward {

KeyCounts count_change_keys(std::span<const Record* const> records, const FormatOptions& format,
                            const std::shared_ptr<SchemaSource>& schemas) {
    KeyOptions key;
    key.sources = key_preset("debezium-postgres").value();
    KeysAlone no_columns;
    MessageBuilder builder({"", "", format, key, schemas}, no_columns);
    std::set<Digest> keys;
    std::size_t found = 0;
    for (const Record* const record : records) {
        Record copy;
        copy.partition = record->partition;
        copy.offset = record->offset;
        copy.key = record->key;
        copy.payload = record->payload;
        copy.headers = record->headers;
        Chunk chunk;
        if (builder.take(std::move(copy), chunk)) continue;
        const Message& message = chunk.messages.at(0);
        if (message.rejection || message.skipped || message.key_text.empty()) continue;
        ++found;
        keys.insert(message.digest);
    }
    return {found, keys.size()};
}

}  // namespace onceward
