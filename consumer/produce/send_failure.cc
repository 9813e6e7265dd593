#include "consumer/produce/send_failure.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>

namespace onceward {

std::string_view to_text(SendFailure failure) {
    switch (failure) {
        case SendFailure::passing: return "passing";
        case SendFailure::record: return "record";
        case SendFailure::topic: return "topic";
    }
    return "";
}

SendFailure send_failure(int code) {
    static constexpr std::array of_records{
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
        RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
        RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE};
    static constexpr std::array of_topics{
        RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
        RD_KAFKA_RESP_ERR_POLICY_VIOLATION,      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED};
    const auto error = static_cast<rd_kafka_resp_err_t>(code);
    if (std::ranges::find(of_records, error) != of_records.end()) return SendFailure::record;
    if (std::ranges::find(of_topics, error) != of_topics.end()) return SendFailure::topic;
    return SendFailure::passing;
}

}  // namespace onceward
