#include "tests/faults/campaign/feeder.h"

#include <algorithm>
#include <stdexcept>

#include "tests/faults/campaign/worker_configuration.h"

namespace onceward::campaign {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t every_longer_one = 4;
constexpr milliseconds longer_transaction{900};

std::string_view name_of(Nature nature) {
    switch (nature) {
        case Nature::good: return "good";
        case Nature::undecodable: return "undecodable";
        case Nature::refused: return "refused";
        case Nature::tombstone: return "tombstone";
        case Nature::without_key: return "without_key";
    }
    return "";
}

std::vector<std::atomic<int>> counts(const Plan& plan) {
    std::vector<std::atomic<int>> partitions(plan.workload.topics.size());
    for (std::size_t i = 0; i < partitions.size(); ++i)
        partitions[i] = plan.workload.topics[i].partitions;
    return partitions;
}

}  // namespace

Feeder::Feeder(const Plan& plan, const Names& names, const std::string& bootstrap_servers)
    : plan_(plan),
      names_(names),
      partitions_(counts(plan)),
      source_(plan, [this](std::size_t topic) { return this->partitions(topic); }),
      file_(names.folder / "produced.ndjson"),
      bootstrap_servers_(bootstrap_servers) {
    using Kind = support::KafkaSender::Kind;
    plain_ = std::make_unique<support::KafkaSender>(bootstrap_servers, Kind::plain);
    if (plan.workload.transactions > 0)
        transactional_ =
            std::make_unique<support::KafkaSender>(bootstrap_servers, Kind::transactional);
    thread_ = std::thread([this] { run(); });
}

Feeder::~Feeder() {
    go_on();
    {
        const std::lock_guard lock(mutex_);
        hurried_ = true;
        if (failure_.empty()) failure_ = "the seed was given up";
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Feeder::hold() {
    std::unique_lock lock(mutex_);
    held_ = true;
    changed_.wait(lock, [this] { return !sending_; });
}

void Feeder::go_on() {
    {
        const std::lock_guard lock(mutex_);
        held_ = false;
    }
    changed_.notify_all();
}

int Feeder::partitions(std::size_t topic) const { return partitions_[topic]; }

void Feeder::set_partitions(std::size_t topic, int count) { partitions_[topic] = count; }

void Feeder::finish() {
    {
        const std::lock_guard lock(mutex_);
        hurried_ = true;
        held_ = false;
    }
    changed_.notify_all();
    thread_.join();
    file_.close();
    if (!failure_.empty()) throw std::runtime_error("the producer failed: " + failure_);
}

std::map<std::pair<std::size_t, int>, std::int64_t> Feeder::last_offsets() const {
    const std::lock_guard lock(mutex_);
    return last_offsets_;
}

// Until that time, longer while held. False where the seed was given up.
bool Feeder::wait_until(Clock::time_point moment) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, moment, [this] { return hurried_; });
    changed_.wait(lock, [this] { return !held_; });
    sending_ = failure_.empty();
    return sending_;
}

void Feeder::run() {
    // The last tenth of the time is for faults on what is there already.
    const auto portions =
        (plan_.workload.messages + plan_.workload.portion - 1) / plan_.workload.portion;
    const auto pause = plan_.fault_phase * 9 / 10 / portions;
    Clock::time_point moment = Clock::now();
    try {
        while (std::optional<Portion> portion = source_.next()) {
            if (!wait_until(moment)) return;
            send(*portion);
            {
                const std::lock_guard lock(mutex_);
                sending_ = false;
            }
            changed_.notify_all();
            moment += pause;
        }
    } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        failure_ = error.what();
        sending_ = false;
    }
    changed_.notify_all();
}

// Where leaders move, some transactions begin at one and end at another.
milliseconds Feeder::open_for(const Portion& portion) const {
    const bool some = portion.messages.front().id % every_longer_one == 0;
    return plan_.trial == Trial::leader_moves && some ? longer_transaction : milliseconds(0);
}

void Feeder::send(const Portion& portion) {
    std::vector<support::AddressedMessage> messages;
    for (const Drawn& drawn : portion.messages)
        messages.push_back({names_.topics[drawn.topic], drawn.message});
    using End = support::Kafka::Transaction;
    const std::vector<std::int64_t> offsets =
        portion.in_transaction ? transactional_->send_in_transaction(
                                     messages, portion.aborted ? End::abort : End::commit,
                                     open_for(portion))
                               : plain_->send(messages);
    for (std::size_t i = 0; i < offsets.size(); ++i)
        record(portion.messages[i], offsets[i], portion.aborted);
    file_.flush();
}

void Feeder::record(const Drawn& drawn, std::int64_t offset, bool aborted) {
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    // Keys and names are plain ASCII: nothing to escape.
    file_ << "{\"id\":" << drawn.id << ",\"t\":\"" << names_.topics[drawn.topic]
          << "\",\"p\":" << drawn.message.partition << ",\"o\":" << offset << ",\"n\":\""
          << name_of(drawn.nature) << "\"";
    if (!drawn.key.empty()) file_ << R"(,"kk":"key","k":")" << drawn.key << "\"";
    if (aborted) file_ << ",\"a\":true";
    if (plan_.trial == Trial::own_codes && drawn.nature == Nature::refused)
        file_ << ",\"s\":\"" << own_code_of(drawn.id) << "\"";
    file_ << ",\"at\":" << now.count() << "}\n";
    if (aborted) return;
    ++visible_;
    const std::lock_guard lock(mutex_);
    std::int64_t& last = last_offsets_[{drawn.topic, drawn.message.partition}];
    last = std::max(last, offset);
}

}  // namespace onceward::campaign
