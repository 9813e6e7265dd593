#include "cli/check/topic_sample.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "cli/composition/registries.h"
#include "consumer/registry/registry_protocol.h"

namespace onceward {
namespace {

KafkaOptions asking_as(KafkaOptions options, std::string group) {
    options.group = std::move(group);
    return options;
}

}  // namespace

std::vector<Stretch> newest_stretches(BrokerView& log, const std::string& topic, int count) {
    const int partitions = log.queries().partition_count(topic);
    std::vector<Stretch> stretches;
    int left = count;
    for (int number = 0; number < partitions && left > 0; ++number) {
        const TopicPartition partition{topic, Partition{number}};
        const LogRange range = log.range(partition);
        const int share = (left + partitions - number - 1) / (partitions - number);
        const Offset begin{std::max(range.earliest.raw(), range.latest.raw() - share)};
        stretches.push_back({partition, begin, range.latest});
        left -= static_cast<int>(range.latest.raw() - begin.raw());
    }
    return stretches;
}

TopicSample::TopicSample(const KafkaOptions& kafka, std::string topic,
                         std::optional<RegistryConfiguration> registry)
    : kafka_(kafka),
      topic_(std::move(topic)),
      registry_(std::move(registry)),
      log_(kafka_),
      reader_(kafka_) {
    if (!registry_) return;
    Configuration configuration;
    configuration.registries = {*registry_};
    TopicConfiguration named;
    named.registry = registry_->name;
    schemas_ = patient_schemas(configuration, named);
}

bool TopicSample::exists() { return log_.queries().partition_count(topic_) > 0; }

const std::vector<Record>& TopicSample::read(int count) {
    records_ = reader_.read(newest_stretches(log_, topic_, count), sample_patience);
    return records_;
}

std::shared_ptr<const WrittenSchema> TopicSample::latest_schema() {
    if (!registry_) return nullptr;
    const RegistryReply reply =
        make_registry_get(*registry_)(registry_->urls.at(0) + latest_path(topic_ + "-value"), {});
    const RegistryAnswer answer = read_answer(reply);
    if (answer.kind == RegistryAnswer::Kind::unknown) return nullptr;
    const std::optional<std::int32_t> number = registered_number(reply);
    if (answer.kind != RegistryAnswer::Kind::found || !number) {
        throw std::runtime_error("the registry " + (answer.reason.empty()
                                                        ? "answers without a schema's id"
                                                        : answer.reason));
    }
    // Asked for by its id, so that the schemas that it refers to come with it.
    return schemas_->find({*number, ""}).schema;
}

std::string TopicSample::new_group(const std::string& wanted) {
    const int partitions = log_.queries().partition_count(topic_);
    constexpr int most = 20;
    std::string group = wanted;
    for (int number = 2; number <= most; ++number) {
        BrokerView view(asking_as(kafka_, group));
        bool used = false;
        for (int partition = 0; partition < partitions && !used; ++partition) {
            used = view.group_offset({topic_, Partition{partition}}).has_value();
        }
        if (!used) break;
        group = wanted + "-" + std::to_string(number);
    }
    return group;
}

}  // namespace onceward
