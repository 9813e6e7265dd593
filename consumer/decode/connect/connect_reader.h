#pragma once
// Turns values that Kafka Connect or Debezium has encoded (days, microseconds, base64 decimals)
// into those that a producer of plain JSON would have sent: ISO 8601 texts, decimal numbers,
// documents. Exact, or refused. One for each decoder, used by its thread.

#include <memory>
#include <memory_resource>
#include <string>

#include "consumer/decode/connect/connect_schema.h"
#include "consumer/decode/connect/connect_value.h"
#include "dedup/message/value.h"

namespace onceward {

struct JsonBuffer;

class ConnectReader {
  public:
    ConnectReader();
    ~ConnectReader();

    // Null and absent stay as they are. Views in the value point where they pointed before, or into
    // the arena. After a fault the value means nothing.
    // REQUIRES: a Value::Kind::json holds well-formed JSON.
    ConnectFault apply(const ConnectSchema& schema, const ConnectSchema::Node& node, Value& value,
                       std::pmr::memory_resource& arena);

  private:
    ConnectFault document(const ConnectSchema& schema, const ConnectSchema::Node& node,
                          Value& value, std::pmr::memory_resource& arena);

    std::string made_;
    std::unique_ptr<JsonBuffer> buffer_;
};

}  // namespace onceward
