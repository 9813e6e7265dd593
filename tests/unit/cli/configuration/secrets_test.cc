// A canary stands in for every secret, in configurations that are wrong in many ways; it must never
// sing.

#include <gtest/gtest.h>

#include <sstream>

#include "dedup/base/secret.h"
#include "tests/unit/cli/configuration/texts.h"

namespace onceward {
namespace {

using test::all_findings;
using test::good_text;
using test::load;

constexpr const char* canary = "c4n4ry";

std::string with(const std::string& dsn, const std::string& properties) {
    return "group: orders\nkafka:\n  bootstrap_servers: localhost:9092\n  properties:\n" +
           properties + "postgres:\n  dsn: " + dsn +
           "\ntopics:\n  - name: payments\n    key: {preset: idempotency-key}\n"
           "    sink: {table: payments, columns: {id: /id}}\n";
}

// The same with a webhook, of which `options` are wrong.
std::string with_webhook(const std::string& options) {
    const std::string good = with("host=localhost", "    security.protocol: SSL\n");
    return good.substr(0, good.find("    sink:")) + "    ledger: {store: lease}\n" +
           "    sink: {webhook: {" + options + "}}\n";
}

// The good configuration with another text in the place of `what`.
std::string with_instead(const std::string& what, const std::string& text) {
    std::string whole = good_text();
    return whole.replace(whole.find(what), what.size(), text);
}

TEST(Secrets, PrintAsStars) {
    const Secret secret{canary};
    std::ostringstream stream;
    stream << secret;
    EXPECT_EQ(stream.str(), "***");
    EXPECT_EQ(to_text(secret), "***");
    EXPECT_EQ(secret.reveal(), canary);
}

TEST(Secrets, NeverShowInFindings) {
    const std::string good = "    security.protocol: SSL\n";
    const std::string texts[] = {
        // Connection strings that libpq does not understand, each in its own way.
        with("'host=localhost password=two c4n4ry'", good),
        with("'postgresql://user:c4n4ry@[host/database'", good),
        with("'c4n4ry'", good),
        with("\"${DSN}\"", good),
        with("[c4n4ry]", good),
        with("host=localhost", "    sasl.password: c4n4ry\n"),
        with("host=localhost", "    sasl.password: ${PASSWORD}\n"),
        with("host=localhost", "    ssl.key.pem: c4n4ry\n"),
        with("host=localhost", "    ssl.key.password: [c4n4ry]\n"),
        with("host=localhost", "    session.timeout.ms: ${PASSWORD}\n"),
        with("host=localhost", "    group.id: ${PASSWORD}\n"),
        with("host=localhost", "    sasl.oauthbearer.client.secret: c4n4ry\n"),
        with("host=localhost", "    sasl.pasword: c4n4ry\n"),
        with("host=localhost", "    enable.auto.commit: ${PASSWORD}\n"),
        with("host=localhost", good) + "workers: ${PASSWORD}\n",
        with("host=localhost", good) + "drain_timeout: ${PASSWORD}\n",
        with("host=localhost", good) + "batch: {bytes: ${PASSWORD}}\n",
        with("host=localhost", good) + "logging: {level: \"${PASSWORD}\"}\n",
        with("host=localhost", good) + "password: c4n4ry\n",
        with_webhook("url: 'https://user:c4n4ry@example.org/'"),
        with_webhook("url: c4n4ry"),
        with_webhook("url: [c4n4ry]"),
        with_webhook("url: '${PASSWORD}'"),
        with_webhook("url: 'https://example.org/', headers: {Host: c4n4ry}"),
        with_webhook("url: 'https://example.org/', headers: {Authorization: [c4n4ry]}"),
        with_webhook("url: 'https://example.org/', headers: {Authorization: \"c4n4ry\\n\"}"),
        with_webhook("url: 'https://example.org/', headers: c4n4ry"),
        with_webhook("url: 'https://example.org/', sign: {secret: [c4n4ry]}"),
    };
    for (const std::string& text : texts) {
        const LoadResult result = load(text, {{"DSN", "password=a c4n4ry"}, {"PASSWORD", canary}});
        SCOPED_TRACE(text);
        EXPECT_FALSE(result.usable());
        EXPECT_EQ(all_findings(result).find(canary), std::string::npos) << all_findings(result);
        EXPECT_EQ(findings_json(result.findings, "f").find(canary), std::string::npos);
    }
}

TEST(Secrets, NeverShowInThePlaceOfAMappingAListANameOrAVariable) {
    const std::string uri = "postgresql://u:hunter2@h/db";
    std::vector<std::string> texts;
    for (const std::string& postgres : {
             uri,
             "dsn=" + uri,
             "connection_string:" + uri,
             "[" + uri + "]",
             "{" + uri + ": x}",
             "{dsn=" + uri + "}",
             "{dsn:" + uri + "}",
             std::string("{dsn: !hunter2 }"),
             std::string("{dsn: {{ dsn | default \"host=h password=hunter2\" }}}"),
             std::string("{dsn: \"${P-hunter2}\"}"),
             std::string("{dsn: \"${P:=hunter2}\"}"),
             std::string("{dsn: \"${file:dsn.secret:-host=h password=hunter2}\"}"),
         }) {
        texts.push_back(with_instead("{dsn: 'host=localhost'}", postgres));
    }
    const std::string servers = "bootstrap_servers: 'localhost:9092'";
    for (const char* properties : {
             "sasl.password=hunter2",
             "{sasl.password=hunter2}",
             "{sasl.password=hunter2: x}",
             "{sasl.password: !hunter2 }",
             "{sasl.password:/hunter2}",
         }) {
        texts.push_back(with_instead(servers, servers + ", properties: " + properties));
    }
    for (const char* more : {"", "    client.id: x\n"}) {
        texts.push_back(with_instead("{" + servers + "}\n", "\n  " + servers +
                                                                "\n  properties:\n"
                                                                "    sasl.password:/hunter2\n" +
                                                                more));
    }
    for (const std::string& top : {
             "databases: " + uri,
             "databases: [" + uri + "]",
             "registries: " + uri,
             "registries: [{name: r, urls: " + uri + "}]",
             uri + ": x",
             uri + ": x\n" + uri + ": x",
             std::string("admin: hunter2"),
             std::string("admin: {operate: hunter2}"),
             std::string("admin: {operate: {tokens: hunter2}}"),
             std::string("traces: {resource: token=hunter2}"),
             std::string("http: {listen: '127.0.0.1:8080', routes: [{method: POST, path: /a, "
                         "topic: a, signature: hunter2}]}"),
         }) {
        texts.push_back(good_text(top + "\n"));
    }
    for (const char* webhook : {
             "'https://u:hunter2@h/'",
             "{url: 'https://h/', sign: hunter2}",
             "{url: 'https://h/', headers: {'Authorization: Bearer hunter2': x}}",
         }) {
        texts.push_back(good_text(
            "", "    ledger: {store: lease}\n    sink: {webhook: " + std::string(webhook) + "}\n"));
    }
    for (const std::string& text : texts) {
        SCOPED_TRACE(text);
        const LoadResult result = load(text);
        EXPECT_FALSE(result.usable());
        const std::string shown = all_findings(result) + findings_json(result.findings, "f") +
                                  findings_json(result.passwords, "f");
        EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown;
    }
}

TEST(Secrets, APasswordThatTheFileHoldsIsARemarkForCheckAndIsNotShown) {
    const std::string good = "    security.protocol: SSL\n";
    for (const std::string& text : {
             with("'host=localhost password=c4n4ry'", good),
             with("'postgresql://user:c4n4ry@host/database'", good),
             with("\"${DSN:-postgresql://user:c4n4ry@host/database}\"", good),
             with("\"host=${HOST} password=${PASSWORD:-c4n4ry}\"", good),
             with("'host=localhost sslpassword=c4n4ry'", good),
             with("\"postgresql://user:c4n4ry@host/database?${OPTIONS}\"", good),
             with("\"host=localhost password=c4n4ry ${OPTIONS}\"", good),
             with("host=localhost", good + "    sasl.password: c4n4ry\n"),
             with("host=localhost", good + "    ssl.key.password: c4n4ry\n"),
             with("host=localhost", good + "    ssl.keystore.password: c4n4ry\n"),
             with("host=localhost", good + "    ssl.key.pem: c4n4ry\n"),
             with("host=localhost", good + "    sasl.oauthbearer.client.secret: c4n4ry\n"),
         }) {
        SCOPED_TRACE(text);
        const LoadResult result = load(text, {{"HOST", "localhost"}});
        ASSERT_EQ(result.passwords.size(), 1U);
        EXPECT_EQ(result.passwords[0].severity, Finding::Severity::warning);
        EXPECT_NE(result.passwords[0].message.find(" is in the file. Write "), std::string::npos);
        EXPECT_EQ(to_text(result.passwords[0], "f").find(canary), std::string::npos);
        EXPECT_EQ(all_findings(result).find("The password is"), std::string::npos);
    }
    for (const std::string& text : {
             with("\"${DSN}\"", good),
             with("\"${file:dsn.secret}\"", good),
             with("'host=localhost user=orders'", good),
             with("\"host=localhost password=${PASSWORD}\"", good),
             with("\"postgresql://user:${PASSWORD}@host/database\"", good),
             with("\"postgresql://user:${PASSWORD}@host/database?${OPTIONS}\"", good),
             with("\"password=${PASSWORD} host=localhost ${OPTIONS}\"", good),
             with("host=localhost", good + "    ssl.key.password: ${PASSWORD}\n"),
             with("host=localhost", good + "    sasl.kerberos.kinit.cmd: kinit\n"),
             with("host=localhost", good + "    sasl.password: ${PASSWORD}\n"),
         }) {
        SCOPED_TRACE(text);
        EXPECT_TRUE(load(text, {{"PASSWORD", canary}}).passwords.empty());
    }
}

}  // namespace
}  // namespace onceward
