// TLS and SASL against a real broker, and brokers that cannot be used.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/check/connect.h"
#include "tests/integration/kafka/own_broker.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/kafka_broker.h"

namespace onceward::kafka_tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void secure(KafkaOptions& kafka, support::KafkaBroker& broker, const std::string& mechanism,
            const std::string& password) {
    kafka.bootstrap_servers = broker.secure_bootstrap_servers();
    kafka.properties["security.protocol"] = "SASL_SSL";
    kafka.properties["sasl.mechanism"] = mechanism;
    kafka.properties["sasl.username"] = "onceward";
    kafka.properties["sasl.password"] = password;
    kafka.properties["ssl.ca.location"] = broker.ca_file().string();
}

class Secure : public testing::TestWithParam<std::string> {};

TEST_P(Secure, AWorkerReadsOverTlsWithSasl) {
    Scene scene;
    scene.send(50);
    WorkerOptions options = scene.options();
    secure(options.kafka, support::shared_broker(), GetParam(), "sasl-secret");
    scene.start(std::move(options));
    scene.expect_all_once();
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, Secure, testing::Values("PLAIN", "SCRAM-SHA-512"),
                         [](const auto& info) {
                             return info.param == "PLAIN" ? "Plain" : "Scram";
                         });

// docs/operations/connections.md promises that.
TEST(Rights, AWorkerNeedsToReadItsTopicAndItsGroupAndNothingElse) {
    using Right = support::Kafka::Right;
    Scene scene;
    scene.send(50);
    // From here on nobody else has a right on them.
    for (const auto& [right, name] : {std::pair(Right::use_cluster, std::string("kafka-cluster")),
                                      std::pair(Right::read_topic, scene.topic()),
                                      std::pair(Right::read_group, scene.group())}) {
        scene.kafka().allow("somebody", right, name);
    }
    const CapturedLog log;
    WorkerOptions options = scene.options();
    secure(options.kafka, support::shared_broker(), "SCRAM-SHA-512", "sasl-secret");
    scene.start(std::move(options));
    EXPECT_TRUE(log.says("uthorization failed"));
    EXPECT_EQ(scene.applied(), 0);
    scene.kafka().allow("onceward", Right::read_topic, scene.topic());
    scene.kafka().allow("onceward", Right::read_group, scene.group());
    scene.expect_all_once();
}

TEST(Refused, AWrongPasswordIsNamedNeverPrintedAndLosesNothing) {
    Scene scene;
    scene.send(20);
    {
        const CapturedLog log;
        WorkerOptions options = scene.options();
        secure(options.kafka, support::shared_broker(), "SCRAM-SHA-512", "canary-wrong");
        Worker& worker = scene.start(std::move(options));
        EXPECT_TRUE(log.says("uthentication failed"));
        EXPECT_EQ(worker.status().partitions, 0U);
        scene.stop(worker);
        EXPECT_EQ(log.text().find("canary-wrong"), std::string::npos);
    }
    EXPECT_EQ(scene.applied(), 0);
    scene.start();
    scene.expect_all_once();
}

std::string finding_of_check(const std::function<void(KafkaOptions&)>& change) {
    Configuration configuration;
    configuration.kafka.group = "check";
    change(configuration.kafka);
    configuration.topics.emplace_back().name = "any";
    const ConnectResult result = check_brokers(configuration);
    return result.findings.empty() ? "" : result.findings.front().message;
}

TEST(Refused, CheckNamesAWrongPasswordAndAPortWithoutLogin) {
    EXPECT_THAT(finding_of_check([](KafkaOptions& kafka) {
                    secure(kafka, support::shared_broker(), "SCRAM-SHA-512", "canary-wrong");
                }),
                AllOf(HasSubstr("The brokers refuse the login"), Not(HasSubstr("canary"))));
    EXPECT_THAT(finding_of_check([](KafkaOptions& kafka) {
                    secure(kafka, support::shared_broker(), "PLAIN", "any");
                    kafka.bootstrap_servers = support::shared_broker().bootstrap_servers();
                    kafka.properties["security.protocol"] = "SASL_PLAINTEXT";
                    kafka.properties.erase("ssl.ca.location");
                }),
                HasSubstr("The brokers refuse the login, or this port accepts none"));
    EXPECT_THAT(finding_of_check([](KafkaOptions& kafka) {
                    secure(kafka, support::shared_broker(), "PLAIN", "any");
                    kafka.properties.erase("ssl.ca.location");
                }),
                HasSubstr("No TLS connection with the brokers can be made"));
}

TEST(Refused, AnExpiredCertificateIsNamed) {
    Scene scene;
    const CapturedLog log;
    WorkerOptions options = scene.options();
    secure(options.kafka, own_broker(), "PLAIN", "sasl-secret");
    Worker& worker = scene.start(std::move(options));
    EXPECT_TRUE(log.says("certificate has expired") || log.says("certificate verify failed", 0ms));
    EXPECT_EQ(worker.status().partitions, 0U);
}

TEST(Refused, ATopicThatDoesNotExistIsNamedAndTheOthersGoOn) {
    Scene scene;
    const CapturedLog log;
    scene.send(20);
    WorkerOptions options = scene.options();
    options.topics.push_back(scene.worker_topic("no_such_topic"));
    scene.start(std::move(options));
    scene.expect_all_once();
    EXPECT_TRUE(log.says("no_such_topic"));
}

TEST(Refused, ABrokerThatIsNotKafkaIsSaidAndTheWorkerCanBeStopped) {
    Scene scene;
    const CapturedLog log;
    WorkerOptions options = scene.options();
    options.kafka.bootstrap_servers =
        "127.0.0.1:" + scene.database().value("SHOW port");  // PostgreSQL's
    Worker& worker = scene.start(std::move(options));
    EXPECT_TRUE(log.says("does not speak Kafka"));
    EXPECT_EQ(worker.status().partitions, 0U);
}

}  // namespace
}  // namespace onceward::kafka_tests
