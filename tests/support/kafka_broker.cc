#include "tests/support/kafka_broker.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "tests/support/certificates.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka.h"
#include "tests/support/memory_folder.h"

namespace onceward::support {

using std::chrono::milliseconds;

KafkaBroker::KafkaBroker(KafkaBrokerOptions options) : options_(std::move(options)) {
    if (options_.port == 0) options_.port = own_port_.emplace().number();
    std::string pattern = (memory_folder() / "onceward-kafka-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like " + pattern);
    folder_ = pattern;
    if (options_.secure) write_certificates(folder_, options_.expired_certificate);
    start();
}

KafkaBroker::~KafkaBroker() {
    process_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string KafkaBroker::secure_bootstrap_servers() const {
    if (!options_.secure) throw std::runtime_error("this broker has no secure listener");
    return "127.0.0.1:" + std::to_string(secure_port_.number());
}

std::string KafkaBroker::direct_bootstrap_servers() const {
    if (!options_.direct) throw std::runtime_error("this broker has no direct listener");
    return "127.0.0.1:" + std::to_string(direct_port_.number());
}

std::vector<std::string> KafkaBroker::properties() const {
    std::vector<std::string> lines = options_.properties;
    if (options_.advertised_port != 0)
        lines.push_back("advertised.listeners=PLAINTEXT://127.0.0.1:" +
                        std::to_string(options_.advertised_port));
    if (options_.direct) {
        const std::uint16_t advertised =
            options_.advertised_port != 0 ? options_.advertised_port : options_.port;
        const std::string direct = ",DIRECT://" + direct_bootstrap_servers();
        const bool controls = options_.node == 1;
        lines.push_back("listeners=PLAINTEXT://" + bootstrap_servers() + direct +
                        (controls ? ",CONTROLLER://127.0.0.1:" + std::to_string(controller_port())
                                  : ""));
        if (!controls) {
            lines.push_back("process.roles=broker");
            lines.push_back("node.id=" + std::to_string(options_.node));
        }
        lines.push_back("advertised.listeners=PLAINTEXT://127.0.0.1:" + std::to_string(advertised) +
                        direct);
        lines.push_back(
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,DIRECT:PLAINTEXT,"
            "CONTROLLER:PLAINTEXT");
        lines.push_back("inter.broker.listener.name=DIRECT");
    }
    if (!options_.secure) return lines;
    const std::string plain = "127.0.0.1:" + std::to_string(options_.port);
    const std::string secure = "127.0.0.1:" + std::to_string(secure_port_.number());
    lines.push_back("listeners=PLAINTEXT://" + plain + ",SECURE://" + secure +
                    ",CONTROLLER://127.0.0.1:" + std::to_string(controller_port_.number()));
    lines.push_back("advertised.listeners=PLAINTEXT://" + plain + ",SECURE://" + secure);
    // Who comes without a login may do everything. Other users may use what nobody has a right on.
    lines.push_back(
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer");
    lines.push_back("super.users=User:ANONYMOUS");
    lines.push_back("allow.everyone.if.no.acl.found=true");
    const std::string listener = "listener.name.secure.";
    lines.push_back(listener + "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512");
    lines.push_back(listener +
                    "plain.sasl.jaas.config=org.apache.kafka.common.security.plain."
                    "PlainLoginModule required user_onceward=\"sasl-secret\";");
    lines.push_back(listener +
                    "scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram."
                    "ScramLoginModule required;");
    lines.push_back(listener + "ssl.keystore.type=PEM");
    lines.push_back(listener + "ssl.keystore.location=" + (folder_ / "server.pem").string());
    return lines;
}

std::string KafkaBroker::cluster() const {
    const std::string name = "cluster.id=";
    std::ifstream file(folder_ / "data" / "log" / "meta.properties");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name)) return line.substr(name.size());
    }
    throw std::runtime_error("the broker's cluster has no id");
}

std::uint16_t KafkaBroker::controller_port() const {
    return options_.controller_port != 0 ? options_.controller_port : controller_port_.number();
}

void KafkaBroker::start() {
    launch();
    await();
}

void KafkaBroker::launch() {
    if (process_ && process_->running()) return;
    ChildOptions options;
    options.command = {std::string(ONCEWARD_SOURCE_FOLDER) + "/scripts/kafka/run-broker",
                       (folder_ / "data").string(), std::to_string(options_.port),
                       std::to_string(controller_port())};
    for (const std::string& line : properties()) options.command.push_back(line);
    // A broker lives for minutes and has little to do: the JVM's second compiler took more than a
    // quarter of the processor time of 15 tests.
    options.environment = {"ONCEWARD_KAFKA_JARS=" ONCEWARD_KAFKA_JARS,
                           "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1"};
    if (options_.secure)
        options.environment.push_back(
            "ONCEWARD_KAFKA_SCRAM=SCRAM-SHA-512=[name=onceward,password=sasl-secret]");
    if (!options_.cluster.empty())
        options.environment.push_back("ONCEWARD_KAFKA_CLUSTER=" + options_.cluster);
    options.output = log();
    process_.emplace(options);
}

void KafkaBroker::await() {
    Kafka kafka(bootstrap_servers());
    bool ended = false;
    const bool answered = eventually(options_.start_limit, [&] {
        ended = !process_->running();
        return ended || kafka.answers(milliseconds(1000));
    });
    if (answered && !ended) return;
    process_.reset();
    throw std::runtime_error("the Kafka broker did not start: " + tail_of(log()));
}

void KafkaBroker::stop() {
    process_->send(SIGTERM);
    if (!process_->wait(milliseconds(60'000)))
        throw std::runtime_error("the Kafka broker does not stop: " + tail_of(log()));
}

void KafkaBroker::kill_now() {
    process_->send(SIGKILL);
    process_->wait(milliseconds(60'000));
}

void KafkaBroker::freeze() { process_->send(SIGSTOP); }

void KafkaBroker::thaw() { process_->send(SIGCONT); }

KafkaBroker& shared_broker() {
    static KafkaBroker broker([] {
        KafkaBrokerOptions options;
        options.secure = true;
        return options;
    }());
    return broker;
}

}  // namespace onceward::support
