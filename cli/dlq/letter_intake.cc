#include "cli/dlq/letter_intake.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "schemas/queries.h"
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

constexpr std::size_t intake_letters = 100;
constexpr std::size_t named_most = 10;

using Bytes = std::optional<std::string_view>;

}  // namespace

// Columns of the statement, one entry a letter. `owned` keeps what the views of texts point to.
struct LetterIntake::Page {
    std::vector<std::int32_t> partitions, attempts;
    std::vector<std::int64_t> offsets;
    std::vector<Bytes> milliseconds, keys, headers, payloads, key_texts, classes, states, reasons,
        identities;
    std::vector<std::optional<Digest>> digests;
    std::deque<std::string> owned;

    std::string_view own(std::string text) { return owned.emplace_back(std::move(text)); }

    void add(const Record& record, const ReadLetter& letter) {
        const LetterOrigin& origin = letter.origin;
        partitions.push_back(origin.partition.raw());
        offsets.push_back(origin.offset.raw());
        // Kafka Connect keeps the message's time as the record's own.
        const auto time =
            letter.style == LetterStyle::connect ? record.timestamp : origin.timestamp;
        milliseconds.emplace_back();
        if (time && storable_time(*time)) {
            milliseconds.back() = own(std::to_string(time->count()));
        }
        keys.push_back(record.key);
        headers.emplace_back(own(headers_json(letter.headers)));
        payloads.push_back(record.payload);
        key_texts.emplace_back();
        if (origin.key_text) key_texts.back() = own(*origin.key_text);
        digests.push_back(origin.digest);
        classes.emplace_back(to_text(origin.kind));
        states.emplace_back(own(printable(origin.sqlstate)));
        reasons.emplace_back(own(printable(origin.reason)));
        attempts.push_back(std::max(origin.attempts, 1));
        identities.emplace_back();
        if (!origin.identity.empty()) identities.back() = own(printable(origin.identity));
    }
};

bool LetterIntake::full() const {
    return static_cast<std::int64_t>(taken_.numbers.size()) >= options_.limit;
}

void LetterIntake::take(std::span<const Record> records) {
    while (!records.empty() && !full()) {
        const std::int64_t room = options_.limit - static_cast<std::int64_t>(taken_.numbers.size());
        const std::size_t size =
            std::min({records.size(), intake_letters, static_cast<std::size_t>(room)});
        take_page(records.first(size));
        records = records.subspan(size);
    }
}

void LetterIntake::take_page(std::span<const Record> records) {
    Page page;
    for (const Record& record : records) {
        ++taken_.read;
        const auto read = read_letter(record.headers);
        if (const auto* problem = std::get_if<std::string>(&read)) {
            note(record, *problem);
            continue;
        }
        const auto& letter = std::get<ReadLetter>(read);
        if (letter.origin.topic != options_.topic) {
            ++taken_.other_topic;
        } else if (letter.by_onceward && letter.origin.group != options_.group) {
            ++taken_.other_group;
        } else {
            page.add(record, letter);
        }
    }
    // Once the transaction is open, each page sends a statement: the server ends a session that is
    // idle in a transaction, and the topic may have nothing but letters of others for a long time.
    if (!page.partitions.empty() || transaction_.connection().in_transaction()) write(page);
}

void LetterIntake::write(Page& page) {
    Parameters parameters{options_.group, options_.topic, page.partitions, page.offsets,
                          page.milliseconds};
    parameters.byte_strings(page.keys)
        .texts(page.headers)
        .byte_strings(page.payloads)
        .byte_strings(page.key_texts)
        .optional_digests(page.digests)
        .texts(page.classes)
        .texts(page.states)
        .texts(page.reasons)
        .small_integers(page.attempts)
        .texts(page.identities)
        .boolean(options_.may_repeat);
    const std::vector<QueryResult> results =
        transaction_.pipelined({{sql::dlq_take_in, parameters}});
    const QueryResult& verdicts = results.front();
    for (int row = 0; row < verdicts.rows(); ++row) {
        const std::string_view verdict = verdicts.text(row, 0);
        if (verdict == "done") ++taken_.done;
        if (verdict == "discarded") ++taken_.discarded;
        if (verdict == "read") ++taken_.read_here;
        if (verdict == "no fence") ++taken_.no_fence;
        if (verdict != "new" && verdict != "present") continue;
        // A worker writes this letter at the same time: the next run finds it.
        if (verdicts.is_null(row, 1)) continue;
        const std::int64_t number = verdicts.binary_integer(row, 1);
        // Kafka Connect may report a message twice.
        const bool first = seen_.insert(number).second;
        if (first) taken_.numbers.push_back(number);
        ++(verdict == "new" && first ? taken_.added : taken_.present);
    }
}

void LetterIntake::note(const Record& record, const std::string& problem) {
    ++taken_.unreadable;
    if (taken_.unreadable_places.size() >= named_most) return;
    taken_.unreadable_places.push_back(options_.from + "/" +
                                       std::to_string(record.partition.raw()) + "/" +
                                       std::to_string(record.offset.raw()) + ": " + problem);
}

void LetterIntake::commit() {
    nlohmann::json details = to_json(taken_);
    details["from_topic"] = options_.from;
    transaction_.query(sql::audit_write, {"dlq import", options_.group + "/" + options_.topic,
                                          "done", details.dump()});
    transaction_.commit();
}

nlohmann::json to_json(const TakenLetters& taken) {
    return {{"read", taken.read},
            {"added", taken.added},
            {"present", taken.present},
            {"done", taken.done},
            {"discarded", taken.discarded},
            {"read_here", taken.read_here},
            {"no_fence", taken.no_fence},
            {"other_topic", taken.other_topic},
            {"other_group", taken.other_group},
            {"unreadable", taken.unreadable},
            {"unreadable_places", taken.unreadable_places}};
}

}  // namespace onceward
