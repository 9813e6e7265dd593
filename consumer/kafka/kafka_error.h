#pragma once
// What librdkafka said of a request that failed. A plain exception; the code is librdkafka's
// (negative: local).

#include <stdexcept>
#include <string>

struct rd_kafka_error_s;

namespace onceward {

class KafkaError : public std::runtime_error {
  public:
    KafkaError(int error_code, const std::string& text)
        : std::runtime_error(text), code(error_code) {}
    int code;
};

// Throws a KafkaError with the code's meaning; `what` says what was tried.
[[noreturn]] void throw_kafka(int code, const std::string& what);
// Throws if the code is an error's, or if there is an error; takes ownership of the latter.
void check_kafka(int code, const std::string& what);
void check_kafka(rd_kafka_error_s* error, const std::string& what);

// Whether the group's coordinator is only not ready yet: it is being found, loaded or moved. It may
// answer a second later.
bool coordinator_is_moving(const KafkaError& error);

// The same for a partition's leader: it is being elected, or is not where the client last knew it.
bool leader_is_moving(const KafkaError& error);

// There is no such topic or partition, as far as the brokers know.
bool unknown_partition(const KafkaError& error);

// Whether the brokers know the client, but do not permit its request.
bool not_allowed(const KafkaError& error);

// Whether a broker refused the login, or its port accepts none.
bool not_authenticated(const KafkaError& error);

// Whether the TLS connection could not be made.
bool tls_failed(const KafkaError& error);

// Returns whether the code is about the records themselves: a broken checksum or compression, an
// unknown format. The broker would say the same again.
bool records_unreadable(int code);

}  // namespace onceward
