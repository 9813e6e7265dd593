// Headers of dead letters against bytes that the real programs wrote: DeadLetterQueueReporter of
// Kafka Connect 4.1.0 and DeadLetterPublishingRecoverer of Spring for Apache Kafka 3.3.4, each for
// the record 5/1234567890123 of the topic `orders` with the time 1714979289123.

#include "sinks/dead_letters/letter_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "dedup/base/text.h"

namespace onceward {
namespace {

using testing::HasSubstr;

// Headers in the form `name hex`, one a line; `null` is a null value. The bytes stay with it.
class Headers {
  public:
    explicit Headers(std::string_view lines) {
        while (!lines.empty()) {
            const std::string_view line = lines.substr(0, lines.find('\n'));
            lines.remove_prefix(std::min(lines.size(), line.size() + 1));
            const std::size_t blank = line.find(' ');
            const std::string_view value = line.substr(blank + 1);
            const std::string_view name = owned_.emplace_back(line.substr(0, blank));
            if (value == "null") {
                all_.push_back({name, std::nullopt});
            } else {
                all_.push_back({name, owned_.emplace_back(bytes(value))});
            }
        }
    }
    const std::vector<Header>& all() const { return all_; }

  private:
    static std::string bytes(std::string_view hexadecimal) {
        std::string bytes;
        for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
            bytes +=
                static_cast<char>(hex_value(hexadecimal[i]) * 16 + hex_value(hexadecimal[i + 1]));
        }
        return bytes;
    }
    std::deque<std::string> owned_;
    std::vector<Header> all_;
};

std::string lines_of(const std::vector<Header>& headers) {
    std::string lines;
    for (const Header& header : headers) {
        lines +=
            std::string(header.name) + " " + (header.value ? hex(*header.value) : "null") + "\n";
    }
    return lines;
}

std::string lines_of(const std::vector<LetterHeader>& headers) {
    std::string lines;
    for (const LetterHeader& header : headers) {
        lines += std::string(header.name) + " " + hex(header.value) + "\n";
    }
    return lines;
}

const std::string own = "a 31\na null\n";

const std::string by_connect =
    "__connect.errors.topic 6f7264657273\n"
    "__connect.errors.partition 35\n"
    "__connect.errors.offset 31323334353637383930313233\n"
    "__connect.errors.connector.name 6f72646572732d73696e6b\n"
    "__connect.errors.task.id 33\n"
    "__connect.errors.stage 56414c55455f434f4e564552544552\n"
    "__connect.errors.class.name "
    "6f72672e6170616368652e6b61666b612e636f6e6e6563742e6a736f6e2e4a736f6e436f6e766572746572\n"
    "__connect.errors.exception.class.name "
    "6f72672e6170616368652e6b61666b612e636f6e6e6563742e6572726f72732e44617461457863657074696f6e\n"
    "__connect.errors.exception.message 6e6f20c3a9\n"
    "__connect.errors.exception.stacktrace "
    "6f72672e6170616368652e6b61666b612e636f6e6e6563742e6572726f72732e44617461457863657074696f6e3a20"
    "6e6f20c3a90a09617420782e592e7a28592e6a6176613a37290a\n";

const std::string exceptions_of_spring =
    "kafka_dlt-exception-fqcn "
    "6f72672e737072696e676672616d65776f726b2e6b61666b612e6c697374656e65722e4c697374656e657245786563"
    "7574696f6e4661696c6564457863657074696f6e\n"
    "kafka_dlt-exception-cause-fqcn "
    "6a6176612e6c616e672e496c6c6567616c5374617465457863657074696f6e\n"
    "kafka_dlt-exception-message 4c697374656e6572206661696c65643b206e6f20c3a9\n"
    "kafka_dlt-exception-stacktrace 0a\n";

const std::string place_of_spring =
    "kafka_dlt-original-topic 6f7264657273\n"
    "kafka_dlt-original-partition 00000005\n"
    "kafka_dlt-original-offset 0000011f71fb04cb\n"
    "kafka_dlt-original-timestamp 0000018f4cbb3823\n"
    "kafka_dlt-original-timestamp-type 43726561746554696d65\n"
    "kafka_dlt-original-consumer-group 62696c6c696e67\n";

// The second recoverer, of the topic `orders-dlt`.
const std::string again_by_spring =
    "kafka_dlt-original-topic 6f72646572732d646c74\n"
    "kafka_dlt-original-partition 00000005\n"
    "kafka_dlt-original-offset 0000000000000007\n"
    "kafka_dlt-original-timestamp 0000018f4cbb3b90\n"
    "kafka_dlt-original-timestamp-type 4c6f67417070656e6454696d65\n"
    "kafka_dlt-original-consumer-group 62696c6c696e67\n";

LetterOrigin the_message() {
    LetterOrigin origin{.topic = "orders",
                        .partition = Partition{5},
                        .offset = Offset{1234567890123},
                        .timestamp = std::chrono::milliseconds{1714979289123}};
    return origin;
}

ReadLetter read(const Headers& headers) {
    auto letter = read_letter(headers.all());
    if (auto* problem = std::get_if<std::string>(&letter)) {
        ADD_FAILURE() << *problem;
        return {};
    }
    return std::get<ReadLetter>(letter);
}

std::string problem_of(const std::string& lines) {
    const Headers headers(lines);
    const auto letter = read_letter(headers.all());
    const auto* problem = std::get_if<std::string>(&letter);
    return problem == nullptr ? "" : *problem;
}

TEST(LetterHeaders, OfKafkaConnectAreReadAsItWritesThem) {
    const Headers headers(own + by_connect);
    const ReadLetter letter = read(headers);
    EXPECT_EQ(letter.style, LetterStyle::connect);
    LetterOrigin wanted = the_message();
    wanted.timestamp.reset();  // Connect keeps it as the record's own
    wanted.group = "orders-sink";
    wanted.kind = Rejection::Kind::undecodable;
    wanted.reason =
        "Kafka Connect's orders-sink: org.apache.kafka.connect.errors.DataException: no \u00e9";
    EXPECT_EQ(letter.origin, wanted);
    EXPECT_EQ(lines_of(letter.headers), own);
}

TEST(LetterHeaders, OfSpringAreReadAsItWritesThem) {
    const Headers headers(own + exceptions_of_spring + place_of_spring);
    const ReadLetter letter = read(headers);
    EXPECT_EQ(letter.style, LetterStyle::spring);
    LetterOrigin wanted = the_message();
    wanted.group = "billing";
    wanted.reason =
        "Spring's group billing: "
        "org.springframework.kafka.listener.ListenerExecutionFailedException: Listener failed; "
        "no \u00e9";
    EXPECT_EQ(letter.origin, wanted);
    EXPECT_EQ(lines_of(letter.headers), own);
}

// Names, order and bytes: what we write in the other programs' styles differs from theirs in what
// the exception is alone.
TEST(LetterHeaders, InTheOtherStylesHaveTheBytesThatTheOtherProgramsWrite) {
    LetterOrigin origin = the_message();
    origin.group = "orders-sink";
    origin.kind = Rejection::Kind::undecodable;
    origin.reason = "no \u00e9";
    const auto same = [](std::string theirs, const std::string& ours,
                         std::initializer_list<const char*> differ) {
        const Headers headers(theirs);
        const Headers made(ours);
        std::vector<std::string_view> names;
        for (const Header& header : made.all()) names.push_back(header.name);
        std::vector<Header> kept;
        for (const Header& header : headers.all()) {
            const bool ends = std::ranges::any_of(
                differ, [&](const char* end) { return header.name.ends_with(end); });
            if (std::ranges::find(names, header.name) == names.end()) continue;
            if (!ends) kept.push_back(header);
        }
        std::vector<Header> mine;
        for (const Header& header : made.all()) {
            const bool ends = std::ranges::any_of(
                differ, [&](const char* end) { return header.name.ends_with(end); });
            if (!ends) mine.push_back(header);
        }
        EXPECT_EQ(lines_of(mine), lines_of(kept));
        return made.all().size();
    };
    EXPECT_EQ(same(by_connect, lines_of(letter_headers(LetterStyle::connect, origin)),
                   {"task.id", ".class.name", "stacktrace"}),
              10U);
    origin.group = "billing";
    EXPECT_EQ(same(exceptions_of_spring + place_of_spring,
                   lines_of(letter_headers(LetterStyle::spring, origin)),
                   {"fqcn", "exception-message", "stacktrace"}),
              9U);
}

LetterOrigin full() {
    LetterOrigin origin = the_message();
    origin.group = "billing";
    origin.identity = "an identity";
    origin.kind = Rejection::Kind::late_key;
    origin.reason = "column `amount` is \"x\"";
    origin.sqlstate = "22003";
    origin.attempts = 3;
    origin.key_text = std::string("k\0\xff", 3);
    origin.digest = digest_of_bytes("k");
    return origin;
}

TEST(LetterHeaders, OfAllStylesComeBackAndLeaveTheMessagesOwn) {
    for (const LetterStyle style :
         {LetterStyle::onceward, LetterStyle::connect, LetterStyle::spring}) {
        SCOPED_TRACE(to_text(style));
        const LetterOrigin origin = full();
        const Headers headers(own + "onceward-id 31\n" + lines_of(letter_headers(style, origin)) +
                              "onceward-id 32\n");
        const ReadLetter letter = read(headers);
        EXPECT_EQ(letter.style, style);
        EXPECT_EQ(lines_of(letter.headers), own + "onceward-id 31\n") << "the relay's alone goes";
        LetterOrigin wanted = the_message();
        wanted.group = origin.group;
        wanted.kind = origin.kind;
        wanted.reason = origin.reason;
        if (style == LetterStyle::connect) wanted.timestamp.reset();
        EXPECT_EQ(letter.origin, style == LetterStyle::onceward ? origin : wanted);
    }
}

// Only our relay adds an id, and only at the end.
TEST(LetterHeaders, OfOtherProgramsLeaveAnIdThatTheMessageCameWith) {
    const Headers headers(own + "onceward-id 31\n" + by_connect);
    EXPECT_EQ(lines_of(read(headers).headers), own + "onceward-id 31\n");
}

TEST(LetterHeaders, WithoutATimeAKeyOrALogAreReadTooInEveryStyle) {
    for (const LetterStyle style :
         {LetterStyle::onceward, LetterStyle::connect, LetterStyle::spring}) {
        LetterOrigin origin{.topic = "t", .partition = Partition{0}, .offset = Offset{0}};
        origin.reason = "why";
        origin.group = "g";
        const Headers headers(lines_of(letter_headers(style, origin)));
        EXPECT_EQ(read(headers).origin, origin) << to_text(style);
        EXPECT_TRUE(read(headers).headers.empty()) << to_text(style);
    }
}

TEST(LetterHeaders, OfADeadLetterThatWasRejectedOnceMoreAreThoseThatWereAddedLast) {
    const Headers twice(own + place_of_spring + exceptions_of_spring + again_by_spring);
    const ReadLetter spring = read(twice);
    EXPECT_EQ(spring.origin.topic, "orders-dlt");
    EXPECT_EQ(spring.origin.offset, Offset{7});
    EXPECT_TRUE(spring.origin.log_append_time);
    EXPECT_EQ(lines_of(spring.headers), own + place_of_spring);

    const Headers connect(own + by_connect + by_connect);
    EXPECT_EQ(lines_of(read(connect).headers), own + by_connect);

    LetterOrigin bare{.topic = "t", .partition = Partition{1}, .offset = Offset{2}};
    const std::string first = lines_of(letter_headers(LetterStyle::onceward, full()));
    const Headers ours(own + first + lines_of(letter_headers(LetterStyle::onceward, bare)));
    EXPECT_EQ(read(ours).origin, bare) << "nothing of the first one's";
    EXPECT_EQ(lines_of(read(ours).headers), own + first);

    const Headers mixed(own + by_connect + first);
    EXPECT_EQ(read(mixed).style, LetterStyle::onceward);
    EXPECT_EQ(lines_of(read(mixed).headers), own + by_connect);
}

TEST(LetterHeaders, ThatSayNoPlaceAreNoLettersAndTheReasonSaysWhatIsMissing) {
    EXPECT_THAT(problem_of(own), HasSubstr("no header of Onceward, Kafka Connect or Spring"));
    EXPECT_THAT(problem_of("__connect.errors.topic null\n"), HasSubstr("no topic"));
    EXPECT_THAT(problem_of("__connect.errors.topic 6120\n"), HasSubstr("no topic"));
    EXPECT_THAT(problem_of("__connect.errors.topic 61\n__connect.errors.partition 2d31\n"),
                HasSubstr("no partition"));
    EXPECT_THAT(problem_of("__connect.errors.topic 61\n__connect.errors.partition 31\n"
                           "__connect.errors.offset 3178\n"),
                HasSubstr("no offset"));
    EXPECT_THAT(problem_of("kafka_dlt-original-topic 61\nkafka_dlt-original-partition 35\n"),
                HasSubstr("no partition"));
    EXPECT_THAT(problem_of("kafka_dlt-original-topic 61\nkafka_dlt-original-partition 00000005\n"
                           "kafka_dlt-original-offset ffffffffffffffff\n"),
                HasSubstr("no offset"));
}

TEST(LetterHeaders, OfAMessageThatCouldNotBeReadSayThatItWasUndecodable) {
    const std::string place =
        "kafka_dlt-original-partition 00000001\nkafka_dlt-original-offset 0000000000000002\n";
    const std::string exception = hex("org.x.DeserializationException");
    const Headers of_value("kafka_dlt-exception-fqcn " + exception +
                           "\nkafka_dlt-original-topic 61\n" + place);
    EXPECT_EQ(read(of_value).origin.kind, Rejection::Kind::undecodable);
    const Headers of_key("kafka_dlt-key-exception-fqcn " + exception +
                         "\nkafka_dlt-key-exception-message 6b\nkafka_dlt-original-topic 61\n" +
                         place);
    EXPECT_EQ(read(of_key).origin.kind, Rejection::Kind::undecodable);
    EXPECT_THAT(read(of_key).origin.reason, HasSubstr("DeserializationException: k"));
    EXPECT_TRUE(read(of_key).headers.empty());
}

}  // namespace
}  // namespace onceward
