#include "cli/produce/production.h"

#include <array>
#include <chrono>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "consumer/produce/ndjson_csv_reader.h"
#include "consumer/produce/record_encoder.h"
#include "dedup/message/digest.h"

namespace onceward {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds topic_limit{10'000};
constexpr milliseconds progress_interval{250};
// Delivered records that wait for their repeat; more make the two lie further apart.
constexpr std::size_t repeats_waiting_max = 1'000;

// Needed as long as the record may have to be sent again.
struct Prepared {
    std::string key;
    std::optional<std::string> record_key;
    std::string payload;
    Partition partition;  // of the first copy, once it is delivered
};

class Production {
  public:
    Production(std::istream& input, const ProductionOptions& options)
        : options_(options),
          encoder_(options.format, wanted_fields(options)),
          producer_(options.producer),
          reader_(options.csv ? read_csv(input) : read_ndjson(input)) {
        partitions_ = producer_.partitions(options.topic, topic_limit);
        producer_.on_delivery([this](const Delivery& delivery) { delivered(delivery); });
    }

    ProductionTotals run() {
        while (!options_.stopped() && !totals_.gave_up &&
               (!options_.count || totals_.records < *options_.count)) {
            std::optional<Prepared> record;
            try {
                record = prepare();
                if (!record) break;
            } catch (const InputError& error) {
                if (!bad_line(error.what())) break;
                continue;
            }
            wait_for_turn(producer_, begin_, totals_.records, options_.rate, options_.stopped);
            ++totals_.records;
            if (keys_.insert(digest_of_bytes(record->key)).second) ++totals_.unique_keys;
            const bool again = options_.repeat_share > 0 && share_(random_) < options_.repeat_share;
            send(*record, std::nullopt, again ? ++last_tag_ : 0);
            if (again) under_way_.emplace(last_tag_, std::move(*record));
            if (ready_.size() > repeats_waiting_max) send_repeats();
            show_progress();
        }
        flush();
        send_repeats();
        flush();
        totals_.failed = producer_.sent() - producer_.delivered();
        totals_.first_failure = producer_.first_failure();
        return totals_;
    }

  private:
    static std::vector<std::string> wanted_fields(const ProductionOptions& options) {
        std::vector<std::string> fields;
        if (options.key_field) fields.push_back(*options.key_field);
        if (options.record_key_field) fields.push_back(*options.record_key_field);
        return fields;
    }

    // The next record; nullopt at the end of the input. A bad one is an InputError with its line.
    std::optional<Prepared> prepare() {
        std::optional<InputRecord> input = reader_();
        if (!input) return std::nullopt;
        const std::string place = "line " + std::to_string(input->line) + ": ";
        try {
            RecordEncoder::Encoded encoded = encoder_.encode(input->json);
            Prepared record;
            std::size_t field = 0;
            if (options_.key_field) {
                const std::optional<std::string>& key = encoded.fields[field++];
                if (!key || key->empty())
                    throw InputError(place + "there is no " + *options_.key_field +
                                     ", which is to be the idempotency key");
                record.key = *key;
            } else {
                record.key = new_uuid();
            }
            if (options_.record_key_field) record.record_key = encoded.fields[field];
            record.payload = std::move(encoded.payload);
            return record;
        } catch (const EncodeError& error) {
            throw InputError(place + error.what());
        }
    }

    bool bad_line(const std::string& reason) {
        ++totals_.bad_lines;
        if (options_.report) options_.report(reason);
        return options_.skip_bad_lines;
    }

    void send(const Prepared& record, std::optional<Partition> partition, std::uint64_t tag) {
        const std::array<Header, 1> headers{Header{options_.key_header, record.key}};
        producer_.send({.topic = options_.topic,
                        .partition = partition,
                        .key = record.record_key,
                        .payload = record.payload,
                        .headers = headers,
                        .tag = tag});
    }

    // Only a record that Kafka has is worth repeating; its partition is known from now on.
    void delivered(const Delivery& delivery) {
        // librdkafka has tried for the whole delivery time-out. The next records would each wait as
        // long: one full queue after another, for hours.
        const bool failed = !delivery.error.empty();
        if (failed && send_failure(delivery.code) == SendFailure::passing) totals_.gave_up = true;
        const auto found = under_way_.find(delivery.tag);
        if (found == under_way_.end()) return;
        if (delivery.error.empty()) {
            found->second.partition = delivery.partition;
            ready_.push_back(std::move(found->second));
        }
        under_way_.erase(found);
    }

    void send_repeats() {
        // send() serves deliveries, which add to ready_.
        const std::vector<Prepared> repeats = std::exchange(ready_, {});
        for (const Prepared& record : repeats) {
            std::int32_t partition = record.partition.raw();
            if (partitions_ > 1) {
                std::uniform_int_distribution<std::int32_t> step(1, partitions_ - 1);
                partition = (partition + step(random_)) % partitions_;
            }
            send(record, Partition{partition}, 0);
            ++totals_.repeats;
        }
    }

    void flush() {
        // Ends when all records are delivered or have failed: librdkafka's delivery time-out bounds
        // it.
        while (!producer_.flush(progress_interval)) show_progress();
    }

    void show_progress() {
        if (!options_.progress || Clock::now() < next_progress_) return;
        next_progress_ = Clock::now() + progress_interval;
        options_.progress(producer_.sent(), producer_.delivered());
    }

    const ProductionOptions& options_;
    RecordEncoder encoder_;
    Producer producer_;
    RecordReader reader_;
    std::int32_t partitions_ = 0;
    std::uint64_t last_tag_ = 0;
    std::unordered_map<std::uint64_t, Prepared> under_way_;  // by tag
    std::vector<Prepared> ready_;
    std::unordered_set<Digest> keys_;
    ProductionTotals totals_;
    std::mt19937_64 random_{std::random_device{}()};
    std::uniform_real_distribution<double> share_{0, 1};
    Clock::time_point begin_ = Clock::now();
    Clock::time_point next_progress_ = begin_ + progress_interval;
};

}  // namespace

ProductionTotals produce(std::istream& input, const ProductionOptions& options) {
    return Production(input, options).run();
}

}  // namespace onceward
