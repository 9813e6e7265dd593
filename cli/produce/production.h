#pragma once
// The run of `onceward produce`: reads records, gives each its idempotency key, writes them to one
// topic. Used by one thread. ProducerError and FormatError come through; what concerns one record
// is counted and reported.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "consumer/decode/format_options.h"
#include "consumer/produce/producer.h"

namespace onceward {

struct ProductionOptions {
    ProducerOptions producer;
    std::string topic;
    FormatOptions format;
    bool csv = false;
    // The field whose value is the idempotency key; nullopt: a random UUID for each record. It is
    // made once for each record, so that a retry of librdkafka's carries the same one.
    std::optional<std::string> key_field;
    std::string key_header = "Idempotency-Key";
    // The field whose value becomes the record's own key; nullopt: records without a key.
    std::optional<std::string> record_key_field;
    // This share of the records is sent once more under the same idempotency key, in another
    // partition if there is one.
    double repeat_share = 0;
    std::optional<std::int64_t> count;  // stop after so many records
    std::optional<double> rate;         // records/s at most, repeats not counted
    bool skip_bad_lines = false;        // continue after a bad line; otherwise reading stops at it
    // Called with a sentence for each bad line.
    std::function<void(const std::string&)> report;
    // Called now and then with the records sent and delivered so far.
    std::function<void(std::int64_t sent, std::int64_t delivered)> progress;
    // Whether the user wants it to end.
    std::function<bool()> stopped = [] { return false; };
};

struct ProductionTotals {
    std::int64_t records = 0;      // read and sent, without their repeats
    std::int64_t unique_keys = 0;  // among them
    std::int64_t repeats = 0;      // sent in addition
    std::int64_t failed = 0;       // refused by Kafka, or not acknowledged in time
    std::int64_t bad_lines = 0;
    // Kafka took a record neither at once nor later, so that reading ended before the input did.
    bool gave_up = false;
    std::string first_failure;
};

ProductionTotals produce(std::istream& input, const ProductionOptions& options);

}  // namespace onceward
