#include "tests/support/kafka_broker.h"

#include <gtest/gtest.h>

#include "tests/support/eventually.h"
#include "tests/support/kafka.h"

namespace onceward::support {
namespace {

using std::chrono::milliseconds;

// A connection that has just been cut or frozen may still have an answer on its way.
bool falls_silent(Kafka& kafka) {
    return eventually(milliseconds(10'000), [&] { return !kafka.answers(milliseconds(300)); });
}

Properties credentials(const KafkaBroker& broker, const std::string& mechanism,
                       const std::string& password) {
    return {{"security.protocol", "SASL_SSL"},
            {"sasl.mechanism", mechanism},
            {"sasl.username", "onceward"},
            {"sasl.password", password},
            {"ssl.ca.location", broker.ca_file()}};
}

TEST(KafkaBroker, KeepsTopicsAndMessagesWhenItIsKilledOrStopped) {
    KafkaBroker broker;
    Kafka kafka(broker.bootstrap_servers());
    kafka.create_topic("kept", 1);
    kafka.produce("kept", {{0, "k", "v", {}, 0}});
    broker.kill_now();
    EXPECT_TRUE(falls_silent(kafka));
    broker.start();
    EXPECT_EQ(kafka.read_all("kept", 1).size(), 1U);
    broker.freeze();
    EXPECT_TRUE(falls_silent(kafka));
    broker.thaw();
    EXPECT_TRUE(kafka.answers(milliseconds(10'000)));
    broker.stop();
    EXPECT_TRUE(falls_silent(kafka));
}

TEST(KafkaBroker, LetsInOverTlsWhoKnowsThePassword) {
    KafkaBroker& broker = shared_broker();
    const std::string address = broker.secure_bootstrap_servers();
    for (const char* mechanism : {"PLAIN", "SCRAM-SHA-512"}) {
        Kafka welcome(address, credentials(broker, mechanism, "sasl-secret"));
        EXPECT_TRUE(welcome.answers(milliseconds(10'000))) << mechanism;
        Kafka stranger(address, credentials(broker, mechanism, "guessed"));
        EXPECT_FALSE(stranger.answers(milliseconds(1'000))) << mechanism;
    }
}

}  // namespace
}  // namespace onceward::support
