#pragma once
// Whether a sample's change events can have the keys of the preset `debezium-postgres`. Pure, but
// for the schemas that it asks the source for.

#include <memory>
#include <span>

#include "cli/proposal/field_evidence.h"
#include "consumer/decode/format_options.h"
#include "consumer/decode/schema_source.h"
#include "dedup/message/message.h"

namespace onceward {

// How many of the records have such a key, and how many different ones there are. REQUIRES: the
// format's envelope is Debezium's.
KeyCounts count_change_keys(std::span<const Record* const> records, const FormatOptions& format,
                            const std::shared_ptr<SchemaSource>& schemas);

}  // namespace onceward
