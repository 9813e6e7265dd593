#pragma once
// Where a route's events go. The gateway knows no Kafka: the composition root implements this with
// consumer/producer.h. Thread-safe.

#include <functional>
#include <optional>
#include <string>

#include "gateway/http.h"

namespace onceward {

struct TopicRecord {
    std::string topic;
    // The idempotency key, so that repeats meet in one partition; none: any partition.
    std::optional<std::string> key;
    std::string payload;
    HttpHeaders headers;
};

class TopicWriter {
  public:
    virtual ~TopicWriter() = default;
    // `done` is called once, from any thread: whether the log has the record, on as many replicas
    // as it asks for. After `false` it may be there all the same: who sends it again sends the same
    // key.
    virtual void produce(TopicRecord record, std::function<void(bool delivered)> done) = 0;
};

}  // namespace onceward
