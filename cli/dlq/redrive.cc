#include "cli/dlq/redrive.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "dedup/message/digest.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds metadata_limit{10'000};
constexpr milliseconds poll_interval{250};
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
        const std::string target = options_.group + "/" + options_.topic;
        note_correction(target);
        connection_.query(sql::dlq_redrive_begin, {numbers_of(letters), target});
        Page page;
        const auto send_page = [&] { send(std::exchange(page, {})); };
        for (const Letter& letter : letters) {
            // DANGER: send it only after Kafka's answer to the letter before it with the same
            // record key. That answer may be a refusal, and this letter would take its place.
            if (options_.by_key && page.has_key_of(letter)) send_page();
            page.add(letter);
            if (page.letters.size() >= page_letters() || page.bytes >= page_bytes) send_page();
        }
        send_page();
        reopen(letters);
        const auto all = static_cast<std::int64_t>(letters.size());
        const nlohmann::json counts{{"letters", all},
                                    {"delivered", report_.delivered},
                                    {"reopened", report_.reopened}};
        connection_.query(sql::audit_write,
                          {"dlq redrive", target, report_.delivered == all ? "done" : "incomplete",
                           counts.dump()});
        return report_;
    }

  private:
    bool behind_a_failed_one(const Letter& letter) const {
        return options_.by_key && letter.record_key && held_.contains(*letter.record_key);
    }

    // Written before it is sent: if the process dies then, the row says what may be in the log.
    void note_correction(const std::string& target) {
        if (!options_.correction) return;
        const std::string& payload = options_.correction->payload;
        const nlohmann::json details{{"number", options_.correction->number},
                                     {"payload_bytes", payload.size()},
                                     {"payload_digest", uuid_text(digest_of_bytes(payload))}};
        connection_.query(sql::audit_write, {"dlq correct", target, "began", details.dump()});
    }

    // Reopens letters of which certainly no copy is in a log, now or from before.
    void reopen(const std::vector<Letter>& letters) {
        std::vector<std::int64_t> numbers;
        for (const Letter& letter : letters) {
            const bool was_open = letter.state == "open" && !letter.sent_before;
            if (was_open && !handed_.contains(letter.number)) numbers.push_back(letter.number);
        }
        if (numbers.empty()) return;
        connection_.query(sql::dlq_redrive_reopen, {numbers});
        report_.reopened = static_cast<std::int64_t>(numbers.size());
    }

    void failed(std::int64_t number, const std::string& error) {
        if (!report_.first_failure.empty()) return;
        report_.first_failure = "dead letter " + std::to_string(number) + ": " + error;
    }

    // How many letters are freed together: they are sent within a second or so.
    std::size_t page_letters() const {
        if (!options_.rate) return most_letters;
        return static_cast<std::size_t>(
            std::clamp(*options_.rate, 1.0, static_cast<double>(most_letters)));
    }

    void send(const Page& page) {
        std::vector<std::int64_t> numbers;
        for (const Letter* letter : page.letters) {
            if (!behind_a_failed_one(*letter)) numbers.push_back(letter->number);
        }
        if (numbers.empty()) return;
        wait_for_turn();
        if (options_.stopped()) return;
        // DANGER: free the keys only when their copies are about to be sent. If a letter were freed
        // and then not sent, a later duplicate would trigger the call.
        connection_.query(sql::dlq_redrive_free, {numbers});
        for (const DeadLetterRecord& record : read_records(connection_, numbers)) {
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
        for (const Letter* letter : page.letters) {
            const bool arrived = std::ranges::find(delivered_, letter->number) != delivered_.end();
            if (!arrived && holds_its_key(*letter)) held_.insert(*letter->record_key);
        }
        delivered_.clear();
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
    return connection.query(sql::dlq_redrive_lock, Parameters{group, topic}).boolean(0, 0);
}

RedriveReport redrive(Connection& connection, const std::vector<Letter>& letters,
                      const RedriveOptions& options) {
    return Redrive(connection, options).run(letters);
}

}  // namespace onceward
