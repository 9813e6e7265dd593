// How a registry is asked over HTTP: its logins, its TLS, what is in its way, and what `check
// --connect` and `doctor` say of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <fstream>
#include <thread>

#include "cli/check/connect.h"
#include "cli/composition/registries.h"
#include "tests/integration/kafka/stand_in_registry.h"
#include "tests/support/certificates.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::RecordedAnswer;
using support::RecordedCall;
using support::RecordingServer;
using testing::HasSubstr;

RegistryConfiguration configuration_of(const std::string& url) {
    RegistryConfiguration configuration;
    configuration.name = "main";
    configuration.urls = {url};
    configuration.timeout = std::chrono::seconds(5);
    return configuration;
}

std::string without_path(const std::string& url) { return url.substr(0, url.rfind('/')); }

class RegistryClient : public testing::Test {
  protected:
    RegistryClient() {
        std::filesystem::create_directories(folder_);
        support::write_certificates(folder_, false);
    }
    ~RegistryClient() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name)) << text;
    }
    // What the registry was sent as `Authorization`.
    std::string login_of(const RegistryConfiguration& configuration) {
        const RegistryReply reply =
            make_registry_get(configuration)(configuration.urls[0] + "/schemas/ids/1", {});
        EXPECT_EQ(reply.status, 200) << reply.failure;
        return server_.calls().back().header("authorization");
    }
    std::string address() const { return without_path(server_.url()); }

  private:
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("registry");
    RecordingServer server_{[](const RecordedCall&, int) {
        return RecordedAnswer{.body = R"({"schema":"\"string\""})"};
    }};
};

TEST_F(RegistryClient, LogsInByNameByTokenByFileOrNotAtAll) {
    RegistryConfiguration configuration = configuration_of(address());
    EXPECT_EQ(login_of(configuration), "");
    configuration.username = "reader";
    configuration.password = "pass:word";
    EXPECT_EQ(login_of(configuration), "Basic cmVhZGVyOnBhc3M6d29yZA==");
    configuration = configuration_of(address());
    configuration.token = "abc";
    EXPECT_EQ(login_of(configuration), "Bearer abc");
}

TEST_F(RegistryClient, ReadsATokensFileAgainForEachRequest) {
    RegistryConfiguration configuration = configuration_of(address());
    configuration.token_file = file("token");
    write("token", "first\n");
    EXPECT_EQ(login_of(configuration), "Bearer first");
    write("token", "second");
    EXPECT_EQ(login_of(configuration), "Bearer second");
    std::filesystem::remove(file("token"));
    const RegistryReply reply =
        make_registry_get(configuration)(address() + "/schemas/ids/1", {});
    EXPECT_EQ(reply.status, 0);
    EXPECT_EQ(read_answer(reply).kind, RegistryAnswer::Kind::failed);
    EXPECT_THAT(reply.failure, HasSubstr("cannot be read"));
}

TEST_F(RegistryClient, TrustsTheAuthorityThatItIsTold) {
    const RecordingServer secure(
        [](const RecordedCall&, int) { return RecordedAnswer{.body = R"({"schema":"x"})"}; },
        std::filesystem::path(file("")));
    const std::string url = without_path(secure.url());
    RegistryConfiguration configuration = configuration_of(url);
    EXPECT_EQ(make_registry_get(configuration)(url + "/schemas/ids/1", {}).status, 0);
    configuration.ca_file = file("ca.pem");
    EXPECT_EQ(make_registry_get(configuration)(url + "/schemas/ids/1", {}).status, 200);
}

TEST_F(RegistryClient, ShowsItsCertificateToARegistryThatAsksForOne) {
    const std::string pair = file("server.pem");
    httplib::SSLServer server(pair.c_str(), pair.c_str(), file("ca.pem").c_str());
    ASSERT_TRUE(server.is_valid());
    server.Get(".*", [](const httplib::Request&, httplib::Response& response) {
        response.set_content(R"({"schema":"x"})", "application/json");
    });
    const int port = server.bind_to_any_port("127.0.0.1");
    std::jthread thread([&] { server.listen_after_bind(); });
    ASSERT_TRUE(support::eventually(std::chrono::seconds(10), [&] { return server.is_running(); }));
    const std::string url = "https://127.0.0.1:" + std::to_string(port);
    RegistryConfiguration configuration = configuration_of(url);
    configuration.ca_file = file("ca.pem");
    EXPECT_EQ(make_registry_get(configuration)(url + "/schemas/ids/1", {}).status, 0);
    configuration.certificate_file = pair;
    configuration.key_file = pair;
    const RegistryReply reply = make_registry_get(configuration)(url + "/schemas/ids/1", {});
    EXPECT_EQ(reply.status, 200) << reply.failure;
    server.stop();
}

TEST_F(RegistryClient, HearsHowLongItIsToWait) {
    const RecordingServer busy([](const RecordedCall&, int) {
        return RecordedAnswer{.status = 429, .headers = {{"Retry-After", "7"}}};
    });
    const std::string url = without_path(busy.url());
    const RegistryReply reply = make_registry_get(configuration_of(url))(url + "/x", {});
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.retry_after, std::chrono::seconds(7));
}

TEST_F(RegistryClient, NobodyListensOrNobodyHasThatName) {
    for (const char* url : {"http://127.0.0.1:1", "http://no-such-host.example"}) {
        const RegistryReply reply = make_registry_get(configuration_of(url))(url, {});
        EXPECT_EQ(read_answer(reply).kind, RegistryAnswer::Kind::failed) << url;
        EXPECT_THAT(read_answer(reply).reason, HasSubstr("cannot be reached")) << url;
    }
}

TEST(RegistryCheck, SaysForEachAddressWhetherItAnswersAndTakesTheLogin) {
    StandInRegistry registry;
    Configuration configuration;
    configuration.registries = {configuration_of(registry.url())};
    ConnectResult result = check_registries(configuration);
    EXPECT_TRUE(result.findings.empty());
    ASSERT_EQ(result.good.size(), 1U);
    EXPECT_THAT(result.good[0], HasSubstr("registry main at http://127.0.0.1"));

    registry.answer_with(401);
    configuration.registries[0].urls.push_back("http://127.0.0.1:1");
    result = check_registries(configuration);
    ASSERT_EQ(result.findings.size(), 2U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("answers 401: it refuses the login"));
    EXPECT_THAT(result.findings[1].message, HasSubstr("cannot be reached"));
}

}  // namespace
}  // namespace onceward::kafka_tests
