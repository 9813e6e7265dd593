#include "consumer/kafka/kafka_error.h"

#include "consumer/kafka/kafka_handles.h"

namespace onceward {

void throw_kafka(int code, const std::string& what) {
    const auto known = static_cast<rd_kafka_resp_err_t>(code);
    throw KafkaError(code, what + ": " + rd_kafka_err2str(known));
}

void check_kafka(int code, const std::string& what) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw_kafka(code, what);
}

void check_kafka(rd_kafka_error_s* error, const std::string& what) {
    const KafkaErrorObject owned(error);
    if (owned) {
        throw KafkaError(rd_kafka_error_code(owned.get()),
                         what + ": " + rd_kafka_error_string(owned.get()));
    }
}

bool coordinator_is_moving(const KafkaError& error) {
    return error.code == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
           error.code == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
           error.code == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
           error.code == RD_KAFKA_RESP_ERR__WAIT_COORD;
}

bool leader_is_moving(const KafkaError& error) {
    return error.code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           error.code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION;
}

bool unknown_partition(const KafkaError& error) {
    return error.code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
           error.code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
           error.code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

bool not_allowed(const KafkaError& error) {
    return error.code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
           error.code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

bool not_authenticated(const KafkaError& error) {
    return error.code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
           error.code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED ||
           error.code == RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM ||
           error.code == RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE;
}

bool tls_failed(const KafkaError& error) { return error.code == RD_KAFKA_RESP_ERR__SSL; }

// The codes that librdkafka's rdkafka_msgset_reader.c and a broker's answer to a fetch can have.
bool records_unreadable(int code) {
    return code == RD_KAFKA_RESP_ERR__BAD_MSG ||          // checksum, or not as the format says
           code == RD_KAFKA_RESP_ERR__BAD_COMPRESSION ||  // does not inflate
           code == RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED ||  // unknown codec or version
           code == RD_KAFKA_RESP_ERR__UNDERFLOW ||        // shorter than it says
           code == RD_KAFKA_RESP_ERR_INVALID_MSG ||       // the broker's own check of its disk
           code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;  // larger than a fetch can be
}

}  // namespace onceward
