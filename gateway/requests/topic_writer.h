#pragma once
// Where a route's events go. The gateway knows no Kafka: the composition root implements this with
// consumer/produce/producer.h. Thread-safe.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gateway/http/http.h"

namespace onceward {

struct TopicRecord {
    std::string topic;
    // The idempotency key, so that repeats meet in one partition; none: any partition.
    std::optional<std::string> key;
    std::string payload;
    HttpHeaders headers;
};

// What became of an event.
enum class EventFate : std::uint8_t {
    taken,      // the log has it, on as many replicas as it asks for
    too_large,  // the log takes none of that size; it is not there
    unknown,    // it may be there all the same: who sends it again sends the same key
};

class TopicWriter {
  public:
    virtual ~TopicWriter() = default;
    using Done = std::function<void(EventFate)>;
    // `done` is called once, from any thread. What becomes of one event is no matter of the others.
    virtual void produce(TopicRecord record, Done done) = 0;
};

}  // namespace onceward
