// Whole records through the intake: frame, decoder, key, tenant, validation, digest. Each message
// has one outcome, and a key's digest depends on nothing but the key.

#include "consumer/intake/message_builder.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

class NoSink : public Sink {
  public:
    void write(Transaction&, const BatchContext&, std::span<const Message* const>) override {}
};

struct Setup {
    NoSink sink;
    KeyOptions key;
    std::unique_ptr<MessageBuilder> intake;

    Setup(KeyOptions options, Format format, Envelope envelope = Envelope::none)
        : key(std::move(options)) {
        MessageBuilderOptions made;
        made.consumer_group = "group";
        made.topic = "topic";
        made.format.format = format;
        made.format.envelope = envelope;
        made.key = key;
        intake = std::make_unique<MessageBuilder>(std::move(made), sink);
    }
};

KeyOptions from(std::vector<KeySource> sources) {
    KeyOptions options;
    options.sources = std::move(sources);
    return options;
}

KeySource source(KeySource::Kind kind, std::string name = "") {
    KeySource made;
    made.kind = kind;
    made.name = std::move(name);
    return made;
}

std::vector<std::unique_ptr<Setup>> make_setups() {
    std::vector<std::unique_ptr<Setup>> setups;
    for (const std::string& preset : key_preset_names()) {
        if (preset == "debezium-postgres") {
            setups.push_back(std::make_unique<Setup>(from(*key_preset(preset)), Format::json,
                                                     Envelope::debezium));
            continue;
        }
        setups.push_back(std::make_unique<Setup>(from(*key_preset(preset)), Format::json));
        setups.push_back(std::make_unique<Setup>(from(*key_preset(preset)), Format::raw));
    }
    KeyOptions tenant =
        from({source(KeySource::Kind::field, "/id"), source(KeySource::Kind::record_key)});
    tenant.tenant = FieldSource{FieldSource::Kind::field, "/tenant"};
    setups.push_back(std::make_unique<Setup>(tenant, Format::json));
    tenant.tenant = FieldSource{FieldSource::Kind::header, "tenant"};
    tenant.on_missing = KeyPolicy::skip;
    tenant.on_invalid = KeyPolicy::derive;
    setups.push_back(std::make_unique<Setup>(tenant, Format::json));
    KeySource composed = source(KeySource::Kind::fields);
    composed.names = {"/id", "/tenant"};
    setups.push_back(std::make_unique<Setup>(from({composed}), Format::json));
    KeyOptions uuid = from({source(KeySource::Kind::record_key)});
    uuid.charset = KeyOptions::Charset::uuid;
    uuid.on_invalid = KeyPolicy::skip;
    uuid.fingerprint.of = FingerprintOptions::Of::payload;
    setups.push_back(std::make_unique<Setup>(uuid, Format::raw));
    KeyOptions pattern = from({source(KeySource::Kind::header, "key")});
    pattern.pattern = "[a-z]+(-[0-9]{1,4})*";
    pattern.length_max = 1 << 20;
    pattern.charset = KeyOptions::Charset::ascii_printable;
    setups.push_back(std::make_unique<Setup>(pattern, Format::raw));
    return setups;
}

constexpr std::array<const char*, 14> header_names{"key",
                                                   "idempotency-key",
                                                   "Idempotency-Key",
                                                   "tenant",
                                                   "ce_id",
                                                   "ce_source",
                                                   "content-type",
                                                   "id",
                                                   "MessageId",
                                                   "NServiceBus.MessageId",
                                                   "eventId",
                                                   "messageId",
                                                   "message-id",
                                                   "x-request-id"};

// Key, then headers, then the payload; each part may be missing.
Record record_of(std::string_view input) {
    Parts parts(input);
    Record record;
    record.partition = Partition{1};
    record.offset = Offset{7};
    const std::uint8_t what = parts.byte();
    if ((what & 1) != 0) record.key = parts.text();
    for (int i = 0; i < (what >> 4); ++i) {
        const std::uint8_t name = parts.byte();
        Header header{header_names[name % header_names.size()], std::nullopt};
        if (name < 0xf0) header.value = parts.text();
        record.headers.push_back(header);
    }
    if ((what & 2) == 0) record.payload = parts.rest();
    return record;
}

bool is_coordinates(const Message& message) {
    return message.key_text == coordinates_key("topic", Partition{1}, Offset{7});
}

void check(const Setup& setup, const Message& message) {
    const KeyOptions& options = setup.key;
    require(!(message.rejection && message.skipped), "a message is rejected or skipped, not both");
    if (message.rejection) {
        require(!message.rejection->reason.empty(), "a rejection says why");
        return;
    }
    if (message.skipped) {
        require(!message.skip_reason.empty(), "a skip says why");
        return;
    }
    require(message.digest != Digest{}, "an accepted message has a digest");
    require(
        message.fingerprint.has_value() == (options.fingerprint.of != FingerprintOptions::Of::none),
        "a fingerprint is there where it is asked for");
    if (is_coordinates(message)) return;
    const std::string_view text = message.key_text;
    require(text.size() >= options.length_min && text.size() <= options.length_max,
            "a key has the length that is allowed");
    require(text.find('\0') == std::string_view::npos, "a key has no NUL");
    if (options.tenant) return;
    bool found = false;
    for (const KeySource& candidate : options.sources) {
        found = found || message.digest == digest_of({"group/topic", "", kind_of(candidate), text});
    }
    require(found, "the digest is of operation, tenant, kind and the key's own text");
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    static const std::vector<std::unique_ptr<fuzz::Setup>> setups = fuzz::make_setups();
    const std::string_view input = fuzz::text_of(data, size);
    if (input.empty()) return 0;
    fuzz::Setup& setup = *setups[static_cast<std::uint8_t>(input.front()) % setups.size()];
    Chunk chunk;
    for (int time = 0; time < 2; ++time) {
        take_now(*setup.intake, fuzz::record_of(input.substr(1)), chunk);
    }
    fuzz::require(chunk.messages.size() == 2, "a record becomes one message");
    const Message& first = chunk.messages.front();
    const Message& second = chunk.messages.back();
    fuzz::check(setup, first);
    fuzz::require(first.rejection.has_value() == second.rejection.has_value() &&
                      first.skipped == second.skipped && first.digest == second.digest &&
                      first.key_text == second.key_text && first.fingerprint == second.fingerprint,
                  "the same record has the same outcome, key and digest");
    return 0;
}
