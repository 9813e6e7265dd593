#include "cli/composition/registries.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "dedup/base/expects.h"
#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/http_client.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto registry_look_every = 50ms;      // for a stop, while an answer is waited for
constexpr std::int64_t answer_bytes = 8 << 20;  // a schema's; the references have their own
constexpr const char* media_type = "application/vnd.schemaregistry.v1+json, application/json";

HttpClientOptions client_options(const RegistryConfiguration& registry) {
    return {.concurrency = 1,
            .timeout = registry.timeout,
            .connect_timeout = registry.timeout,
            // A registry is nearly always in the network of those who ask it.
            .allowed = networks_of({"0.0.0.0/0", "::/0"}),
            .ca_file = registry.ca_file,
            .certificate_file = registry.certificate_file,
            .key_file = registry.key_file,
            .answer_bytes = answer_bytes};
}

// Read again each time, since a token is renewed by replacing the file.
Secret read_token(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("the file with its token, " + file + ", cannot be read");
    std::string text(std::istreambuf_iterator<char>(stream), {});
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    if (text.empty() || !valid_header_value(text)) {
        throw std::runtime_error("the file with its token, " + file + ", has none");
    }
    return text;
}

std::optional<Secret> authorization(const RegistryConfiguration& registry) {
    if (!registry.username.empty()) {
        return "Basic " + base64(registry.username + ":" + registry.password.reveal());
    }
    if (!registry.token.empty()) return "Bearer " + registry.token.reveal();
    if (!registry.token_file.empty()) return "Bearer " + read_token(registry.token_file).reveal();
    return std::nullopt;
}

RegistryReply reply_of(HttpAnswer answer) {
    RegistryReply reply{.status = answer.status, .failure = std::move(answer.failure)};
    if (answer.too_large) reply = {.failure = "its answer has more than 8 MiB"};
    reply.body = std::move(answer.body);
    for (const auto& [name, value] : answer.headers) {
        if (lower_case(name) == "retry-after") reply.retry_after = retry_after(value);
    }
    return reply;
}

// Used by one thread.
class RegistryCall {
  public:
    explicit RegistryCall(const RegistryConfiguration& registry)
        : registry_(registry), client_(client_options(registry)) {}

    RegistryReply get(const std::string& address, const std::stop_token& stop) {
        try {
            HttpCall call;
            call.url = address;
            call.method = "GET";
            call.headers.emplace_back("Accept", media_type);
            if (std::optional<Secret> login = authorization(registry_)) {
                call.headers.emplace_back("Authorization", std::move(*login));
            }
            client_.begin(++last_, std::move(call));
        } catch (const std::runtime_error& error) {
            return {.failure = error.what()};
        }
        while (!stop.stop_requested()) {
            std::vector<HttpAnswer> answers = client_.wait(registry_look_every);
            if (!answers.empty()) return reply_of(std::move(answers.front()));
        }
        client_.cancel(last_);
        return {.failure = "the process ends"};
    }

  private:
    RegistryConfiguration registry_;
    HttpClient client_;
    std::uint64_t last_ = 0;
};

std::shared_ptr<SchemaCache> make_cache(const RegistryConfiguration& registry) {
    SchemaCacheOptions options{.name = registry.name, .addresses = registry.urls};
    options.limits.schemas = registry.schemas;
    options.limits.bytes = registry.bytes;
    options.limits.unknown_for = registry.unknown_for;
    return std::make_shared<SchemaCache>(std::move(options), make_registry_get(registry));
}

}  // namespace

RegistryGet make_registry_get(const RegistryConfiguration& registry) {
    const auto call = std::make_shared<RegistryCall>(registry);
    return [call](const std::string& address, const std::stop_token& stop) {
        return call->get(address, stop);
    };
}

Registries make_registries(const Configuration& configuration) {
    Registries made;
    for (const RegistryConfiguration& registry : configuration.registries) {
        made.emplace(registry.name, make_cache(registry));
    }
    return made;
}

std::shared_ptr<SchemaSource> patient_schemas(const Configuration& configuration,
                                              const TopicConfiguration& topic) {
    for (const RegistryConfiguration& registry : configuration.registries) {
        if (registry.name == topic.registry) return patient(make_cache(registry));
    }
    expects(topic.registry.empty(), "a topic's registry is in its configuration");
    return nullptr;
}

std::shared_ptr<SchemaCache> registry_of(const Registries& registries,
                                         const TopicConfiguration& topic) {
    if (topic.registry.empty()) return nullptr;
    const auto found = registries.find(topic.registry);
    expects(found != registries.end(), "a topic's registry is among those that were made");
    return found->second;
}

// Each registry has this path, and asks for the login there.
std::string registry_fault(const RegistryConfiguration& registry, const std::string& address) {
    const RegistryReply reply = make_registry_get(registry)(address + "/schemas/types", {});
    if (reply.status == 200 && reply.body.find("AVRO") != std::string::npos) return "";
    return read_answer(reply).reason;
}

}  // namespace onceward
