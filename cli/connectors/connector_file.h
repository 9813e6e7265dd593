#pragma once
// The configuration of a Kafka Connect connector, read from a file in any of its usual forms. Plain
// values. Reading throws ConnectorError; it opens no connection.

#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace onceward {

// The text is no connector, or one that cannot become a configuration; a sentence.
class ConnectorError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A connector's options. It knows which of them were asked for, so that the rest can be named.
class ConnectorOptions {
  public:
    explicit ConnectorOptions(std::map<std::string, std::string> options)
        : options_(std::move(options)) {}

    // nullopt if the option is not given or empty.
    std::optional<std::string> find(const std::string& name);
    std::string text(const std::string& name, const std::string& otherwise);
    // The option is given and says `true`.
    bool flag(const std::string& name, bool otherwise);
    // Parts between commas, without blanks.
    std::vector<std::string> list(const std::string& name);
    // The first of these that is given: Debezium and Confluent name one thing in two ways.
    std::string either(const std::string& one, const std::string& other,
                       const std::string& otherwise);
    bool has(const std::string& name) const { return options_.contains(name); }
    // Options below `prefix` without it, all of them asked for now.
    std::map<std::string, std::string> below(const std::string& prefix);
    // The same options and one more.
    ConnectorOptions with(const std::string& name, const std::string& value) const;
    // What nobody asked for, in alphabetical order.
    std::vector<std::string> rest() const;

  private:
    std::map<std::string, std::string> options_;
    std::set<std::string> asked_;
};

struct Connector {
    std::string name;
    ConnectorOptions options;
};

// JSON as the REST API takes it (`{"name": ..., "config": {...}}`, or the options alone), a file
// of properties as the stand-alone worker takes it, or Strimzi's KafkaConnector in YAML.
Connector read_connector(const std::string& text);

std::vector<std::string> split_list(const std::string& text);

}  // namespace onceward
