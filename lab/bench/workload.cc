#include "lab/bench/workload.h"

#include <algorithm>

#include "dedup/base/iso_time.h"
#include "dedup/message/digest.h"

namespace onceward::bench {
namespace {

constexpr std::uint64_t every = 10;
constexpr std::int64_t first_duplicate = 100;
constexpr std::int64_t near = 50'000;
constexpr std::size_t payload_bytes = 374;

std::string account_of(std::int64_t number) {
    return "account-" + std::to_string(number % 10'000);
}
std::int64_t amount_of(std::int64_t number) { return number * 7 % 1'000'000; }

constexpr std::string_view note_begins = R"(,"retries":0,"note":")";
constexpr std::string_view usual_time = "2026-01-01T00:00:00.123456Z";

// Lists the table's columns, without the closing bracket.
std::string fields(const std::string& key, std::int64_t number,
                   std::string_view created_at = usual_time) {
    return R"({"event_id":")" + key + R"(","account":")" + account_of(number) +
           R"(","amount_minor":)" + std::to_string(amount_of(number)) +
           R"(,"currency":"EUR","created_at":")" + std::string(created_at) + '"';
}

constexpr std::int64_t created_at_micros = 1'767'225'600'123'456;  // the same time

// Avro's binary encoding of a `long` and of a `string`.
void append_long(std::int64_t value, std::string& out) {
    auto rest = static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    for (; rest > 0x7f; rest >>= 7) out += static_cast<char>((rest & 0x7f) | 0x80);
    out += static_cast<char>(rest);
}
void append_text(std::string_view text, std::string& out) {
    append_long(static_cast<std::int64_t>(text.size()), out);
    out += text;
}

// By chance, so that each partition has its share of them.
bool is_duplicate(const Workload& workload, std::int64_t number) {
    return workload.duplicates && number >= first_duplicate &&
           mix(static_cast<std::uint64_t>(number)) % every == 0;
}

}  // namespace

std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
}

std::string filled_up(std::string text) {
    text += std::string(note_begins) + "a field that no column asks for";
    const std::string end = R"("})";
    text.append(payload_bytes - std::min(payload_bytes, text.size() + end.size()), '.');
    return text + end;
}

std::int64_t original(const Workload& workload, std::int64_t number) {
    if (!is_duplicate(workload, number)) return number;
    const std::uint64_t random = mix(static_cast<std::uint64_t>(~number));
    const std::int64_t reach = random % 10 == 0 ? number : std::min(number, near);
    const auto back = static_cast<std::int64_t>(random / 10 % static_cast<std::uint64_t>(reach));
    std::int64_t at = number - 1 - back;
    // The first ones are none, so that this ends.
    while (is_duplicate(workload, at) ||
           partition_of(workload, at) == partition_of(workload, number)) {
        at = at == 0 ? number - 1 : at - 1;
    }
    return at;
}

std::int64_t distinct_keys(const Workload& workload) {
    std::int64_t keys = 0;
    for (std::int64_t number = 0; number < workload.messages; ++number) {
        if (!is_duplicate(workload, number)) ++keys;
    }
    return keys;
}

std::string key_of(const Workload& workload, std::int64_t number) {
    return uuid_text(
        digest_of_bytes(workload.topic + "/" + std::to_string(original(workload, number))));
}

std::string payload(const std::string& key, std::int64_t number) {
    return filled_up(fields(key, number));
}

std::string payload(const std::string& key, std::int64_t number,
                    std::chrono::system_clock::time_point created_at) {
    const auto time =
        std::chrono::duration_cast<std::chrono::microseconds>(created_at.time_since_epoch());
    return filled_up(fields(key, number, iso_text(time)));
}

std::string connect_payload(const std::string& key, std::int64_t number) {
    static const std::string schema =
        R"({"schema":{"type":"struct","optional":false,"fields":[)"
        R"({"field":"event_id","type":"string","name":"io.debezium.data.Uuid","optional":false},)"
        R"({"field":"account","type":"string","optional":false},)"
        R"({"field":"amount_minor","type":"int64","optional":false},)"
        R"({"field":"currency","type":"string","optional":false},)"
        R"({"field":"created_at","type":"string","name":"io.debezium.time.ZonedTimestamp",)"
        R"("optional":false}]},"payload":)";
    return schema + fields(key, number) + "}}";
}

std::string avro_payload(const std::string& key, std::int64_t number) {
    const std::string json = payload(key, number);
    const std::size_t note = json.find(note_begins) + note_begins.size();
    std::string bytes("\0\0\0\0\1", 5);
    append_text(key, bytes);
    append_text(account_of(number), bytes);
    append_long(amount_of(number), bytes);
    append_text("EUR", bytes);
    append_long(created_at_micros, bytes);
    append_long(0, bytes);
    append_text(std::string_view(json).substr(note, json.size() - note - 2), bytes);
    return bytes;
}

std::string avro_schema_answer() {
    return R"({"schema":"{\"type\":\"record\",\"name\":\"Payment\",\"fields\":[)"
           R"({\"name\":\"event_id\",\"type\":\"string\"},)"
           R"({\"name\":\"account\",\"type\":\"string\"},)"
           R"({\"name\":\"amount_minor\",\"type\":\"long\"},)"
           R"({\"name\":\"currency\",\"type\":\"string\"},)"
           R"({\"name\":\"created_at\",\"type\":{\"type\":\"long\",)"
           R"(\"logicalType\":\"timestamp-micros\"}},)"
           R"({\"name\":\"retries\",\"type\":\"int\"},)"
           R"({\"name\":\"note\",\"type\":\"string\"}]}"})";
}

}  // namespace onceward::bench
