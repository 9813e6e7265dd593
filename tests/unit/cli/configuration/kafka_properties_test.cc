#include <gtest/gtest.h>

#include "consumer/kafka/kafka_options.h"

namespace onceward {
namespace {

TEST(KafkaProperties, ThoseThatBreakTheGuaranteeAreRefusedWithAReason) {
    const std::pair<const char*, const char*> broken[] = {{"enable.auto.commit", "true"},
                                                          {"enable.auto.offset.store", "true"},
                                                          {"auto.offset.reset", "earliest"},
                                                          {"isolation.level", "read_uncommitted"},
                                                          {"check.crcs", "false"},
                                                          {"enable.partition.eof", "false"},
                                                          {"group.id", "other"},
                                                          {"group.instance.id", "one"},
                                                          {"bootstrap.servers", "other:9092"},
                                                          {"plugin.library.paths", "x.so"},
                                                          {"rebalance_cb", "x"},
                                                          {"allow.auto.create.topics", "true"}};
    for (const auto& [name, value] : broken) {
        const std::string reason = refused_property(name, value);
        EXPECT_EQ(reason.find("`" + std::string(name) + "` is refused: "), 0U) << name;
    }
}

TEST(KafkaProperties, WhatIsSetAnywayMayBeWritten) {
    EXPECT_EQ(refused_property("enable.auto.commit", "false"), "");
    EXPECT_EQ(refused_property("isolation.level", "read_committed"), "");
    EXPECT_EQ(refused_property("check.crcs", "true"), "");
}

TEST(KafkaProperties, OthersPass) {
    for (const char* name : {"security.protocol", "fetch.max.bytes", "group.protocol",
                             "partition.assignment.strategy", "session.timeout.ms"}) {
        EXPECT_EQ(refused_property(name, "x"), "") << name;
    }
    EXPECT_EQ(unknown_property("session.timeout.ms", "6000"), "");
    EXPECT_EQ(unknown_property("partition.assignment.strategy", "cooperative-sticky"), "");
}

TEST(KafkaProperties, AMisspeltOneIsGuessed) {
    EXPECT_NE(unknown_property("sasl.usrname", "x").find("`sasl.username`"), std::string::npos);
    EXPECT_NE(unknown_property("session.timeout.ms", "soon"), "");
}

TEST(KafkaProperties, SecretsAreKnown) {
    for (const char* name :
         {"sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem",
          "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config"}) {
        EXPECT_TRUE(secret_property(name)) << name;
    }
    EXPECT_FALSE(secret_property("sasl.username"));
    EXPECT_FALSE(secret_property("session.timeout.ms"));
}

}  // namespace
}  // namespace onceward
