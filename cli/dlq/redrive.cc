#include "cli/dlq/redrive.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "dedup/message/digest.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds metadata_limit{10'000};
constexpr milliseconds poll_interval{250};
// A session holds its locks until the server has noticed its end, a moment after the command's.
constexpr milliseconds lock_limit{2'000};
constexpr milliseconds lock_interval{20};
// Letters whose records are in memory at once.
constexpr std::size_t most_letters = 100;
constexpr std::int64_t page_bytes = 8 << 20;

// The topic limits how large a record may be, and it took the original. librdkafka's own limit is
// lower.
ProducerOptions for_letters(ProducerOptions options) {
    options.properties["message.max.bytes"] = Secret("1000000000");
    // Together they may be more than the topic takes at once, and be refused together.
    options.properties["batch.num.messages"] = Secret("1");
    return options;
}

// Letters that are under way together.
struct Page {
    std::vector<const Letter*> letters;
    std::set<std::string> record_keys;
    std::int64_t bytes = 0;

    bool has_key_of(const Letter& letter) const {
        return letter.record_key && record_keys.contains(*letter.record_key);
    }
    void add(const Letter& letter) {
        letters.push_back(&letter);
        if (letter.record_key) record_keys.insert(*letter.record_key);
        bytes += letter.payload_bytes;
    }
};

class Redrive {
  public:
    Redrive(Connection& connection, const RedriveOptions& options)
        : connection_(connection), options_(options), producer_(for_letters(options.producer)) {
        partitions_ = producer_.partitions(options.topic, metadata_limit);
        producer_.on_delivery([this](const Delivery& delivery) {
            const auto number = static_cast<std::int64_t>(delivery.tag);
            if (delivery.error.empty()) return delivered_.push_back(number);
            if (is_too_large(delivery.code)) handed_.erase(number);
            failed(number, delivery.error);
        });
    }

    RedriveReport run(const std::vector<Letter>& letters) {
        for (const Letter& letter : letters) {
            if (letter.record_key) of_key_[*letter.record_key].push_back(&letter);
        }
        Page page;
        const auto send_page = [&] { send(std::exchange(page, {})); };
        for (const Letter& letter : letters) {
            // DANGER: send it only after Kafka's answer to the letter before it with the same
            // record key. That answer may be a refusal, and this letter would take its place.
            if (options_.by_key && page.has_key_of(letter)) send_page();
            if (follows_a_failed_one(letter)) continue;
            page.add(letter);
            if (page.letters.size() >= page_letters() || page.bytes >= page_bytes) send_page();
        }
        send_page();
        std::vector<const Letter*> all;
        for (const Letter& letter : letters) all.push_back(&letter);
        reopen(all);
        const auto count = static_cast<std::int64_t>(letters.size());
        report_.marked = static_cast<std::int64_t>(marked_.size());
        report_.reopened = count - report_.delivered - report_.marked - report_.left;
        const nlohmann::json counts{{"letters", count},
                                    {"delivered", report_.delivered},
                                    {"reopened", report_.reopened},
                                    {"left", report_.left}};
        connection_.query(sql::audit_write,
                          {"dlq redrive", target_,
                           report_.delivered == count ? "done" : "incomplete", counts.dump()});
        return report_;
    }

  private:
    bool follows_a_failed_one(const Letter& letter) const {
        return options_.by_key && letter.record_key && held_.contains(*letter.record_key);
    }

    // The letter, and with by_key all others of its record key.
    std::vector<const Letter*> with_its_key(const Letter& letter) const {
        if (!options_.by_key || !letter.record_key) return {&letter};
        return of_key_.at(*letter.record_key);
    }

    // Marks the page's letters, and with by_key those of their record keys that come later: the
    // first copy would wait for an open one. Returns the numbers of those of the page that go.
    std::vector<std::int64_t> mark(const Page& page) {
        std::vector<std::int64_t> numbers;
        std::vector<std::optional<std::string_view>> states;
        for (const Letter* letter : page.letters) {
            if (asked_.contains(letter->number)) continue;
            for (const Letter* one : with_its_key(*letter)) {
                asked_.insert(one->number);
                numbers.push_back(one->number);
                states.emplace_back(one->state);
            }
        }
        if (!numbers.empty()) {
            const QueryResult marked = connection_.query(
                sql::dlq_redrive_begin, Parameters{numbers, target_, states, options_.by_key},
                unchanged_letters(connection_));
            for (int row = 0; row < marked.rows(); ++row) marked_.insert(marked.integer(row, 0));
            report_.left += static_cast<std::int64_t>(numbers.size()) - marked.rows();
        }
        std::vector<std::int64_t> going;
        for (const Letter* letter : page.letters) {
            if (marked_.contains(letter->number)) going.push_back(letter->number);
        }
        return going;
    }

    // Written before it is sent: if the process dies then, the row says what may be in the log.
    void note_correction(const std::vector<std::int64_t>& going) {
        if (!options_.correction) return;
        const auto& [number, payload] = *options_.correction;
        if (std::ranges::find(going, number) == going.end()) return;
        const nlohmann::json details{{"number", number},
                                     {"payload_bytes", payload.size()},
                                     {"payload_digest", uuid_text(digest_of_bytes(payload))}};
        connection_.query(sql::audit_write, {"dlq correct", target_, "began", details.dump()});
    }

    // Reopens letters of which certainly no copy is in a log, now or from before.
    void reopen(const std::vector<const Letter*>& letters) {
        std::vector<std::int64_t> numbers;
        for (const Letter* letter : letters) {
            const bool unsent =
                marked_.contains(letter->number) && !handed_.contains(letter->number);
            const bool was_open = letter->state == "open" && !letter->sent_before;
            if (unsent && was_open) numbers.push_back(letter->number);
        }
        if (numbers.empty()) return;
        const QueryResult reopened = connection_.query(sql::dlq_redrive_reopen, {numbers});
        // The rest was discarded meanwhile.
        report_.left += static_cast<std::int64_t>(numbers.size()) - reopened.affected();
        for (const std::int64_t number : numbers) marked_.erase(number);
    }

    void failed(std::int64_t number, const std::string& error) {
        if (!report_.first_failure.empty()) return;
        report_.first_failure = "dead letter " + std::to_string(number) + ": " + error;
    }

    // How many letters are marked and freed together: they are sent within a second or so.
    std::size_t page_letters() const {
        if (!options_.rate) return most_letters;
        return static_cast<std::size_t>(
            std::clamp(*options_.rate, 1.0, static_cast<double>(most_letters)));
    }

    void send(const Page& page) {
        if (page.letters.empty()) return;
        wait_for_turn();
        if (options_.stopped()) return;
        // DANGER: mark letters and free their keys only when their copies are about to be sent. If
        // they were not sent then, they would hold back no message, and a later duplicate would
        // trigger the call.
        const std::vector<std::int64_t> going = mark(page);
        if (going.empty()) return;
        note_correction(going);
        connection_.query(sql::dlq_redrive_free, {going});
        for (const DeadLetterRecord& record : read_records(connection_, going)) {
            wait_for_turn();
            if (options_.stopped()) break;
            send(record);
        }
        // Ends when all records are delivered or have failed: librdkafka's delivery time-out bounds
        // it.
        while (!producer_.flush(poll_interval)) show_progress();
        show_progress();
        // DANGER: only after Kafka's answer. If the letter were marked before it, a copy that never
        // arrived would count as sent, and the message as dealt with.
        connection_.query(sql::dlq_redrive_end, {delivered_});
        report_.delivered += static_cast<std::int64_t>(delivered_.size());
        for (const std::int64_t number : std::exchange(delivered_, {})) marked_.erase(number);
        hold(page);
    }

    // What did not arrive is open again at once, with what follows it under its record key.
    void hold(const Page& page) {
        std::vector<const Letter*> back;
        for (const Letter* letter : page.letters) {
            if (!marked_.contains(letter->number)) continue;
            if (holds_its_key(*letter)) held_.insert(*letter->record_key);
            const std::vector<const Letter*> all =
                holds_its_key(*letter) ? with_its_key(*letter) : std::vector{letter};
            back.insert(back.end(), all.begin(), all.end());
        }
        reopen(back);
    }

    void send(const DeadLetterRecord& record) {
        const std::string count = std::to_string(redrives_of(record.headers) + 1);
        const std::string number = std::to_string(record.number);
        const bool corrected = options_.correction && options_.correction->number == record.number;
        std::vector<Header> headers;
        for (const StoredHeader& header : record.headers) {
            if (header.name == redriven_header) continue;
            if (corrected && header.name == corrects_header) continue;
            headers.push_back({header.name, header.value});
        }
        headers.push_back({redriven_header, count});
        if (corrected) headers.push_back({corrects_header, number});
        OutgoingRecord outgoing;
        outgoing.topic = options_.topic;
        // Where its claims are, with `reach: partition`. Its time is not kept: Kafka's retention
        // would remove an old record at once.
        if (record.partition.raw() < partitions_) outgoing.partition = record.partition;
        outgoing.key = record.key;
        outgoing.payload = record.payload;
        if (corrected) outgoing.payload = options_.correction->payload;
        outgoing.headers = headers;
        outgoing.tag = static_cast<std::uint64_t>(record.number);
        try {
            handed_.insert(record.number);
            producer_.send(outgoing);
            ++report_.sent;
        } catch (const RecordRefused& refused) {
            handed_.erase(record.number);
            failed(record.number, refused.what());
        }
    }

    void show_progress() const {
        const auto now = static_cast<std::int64_t>(delivered_.size());
        if (options_.progress) options_.progress(report_.delivered + now);
    }

    void wait_for_turn() {
        onceward::wait_for_turn(producer_, begin_, report_.sent, options_.rate, options_.stopped);
    }

    Connection& connection_;
    const RedriveOptions& options_;
    const std::string target_ = options_.group + "/" + options_.topic;  // in the audit log
    // The letters by their record keys.
    std::map<std::string, std::vector<const Letter*>> of_key_;
    std::set<std::int64_t> asked_;         // each letter is marked at most once
    std::set<std::int64_t> marked_;        // and neither delivered nor open again
    std::vector<std::int64_t> delivered_;  // of this page
    std::set<std::string> held_;           // record keys of what did not arrive
    std::set<std::int64_t> handed_;        // to the producer, and not refused for good
    RedriveReport report_;
    std::int32_t partitions_ = 0;
    Clock::time_point begin_ = Clock::now();
    Producer producer_;  // the last member: its end may still report deliveries to the others
};

}  // namespace

bool lock_redrives(Connection& connection, const std::string& group, const std::string& topic) {
    const auto until = Clock::now() + lock_limit;
    while (!connection.query(sql::dlq_redrive_lock, Parameters{group, topic}).boolean(0, 0)) {
        if (Clock::now() >= until) return false;
        std::this_thread::sleep_for(lock_interval);
    }
    return true;
}

RedriveReport redrive(Connection& connection, const std::vector<Letter>& letters,
                      const RedriveOptions& options) {
    return Redrive(connection, options).run(letters);
}

}  // namespace onceward
