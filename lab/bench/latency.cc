#include "lab/bench/latency.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "dedup/message/digest.h"
#include "lab/bench/topic.h"
#include "lab/queries.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto longest = 30s;  // of one message
constexpr auto look_every = 50us;
// What a worker, a broker and a server do after a message is over by then.
constexpr auto idle = 5ms;
constexpr int warm_up = 10;
constexpr int fsyncs = 200;

// Seconds of one commit of one row.
double commit(Connection& session, std::int64_t number) {
    const std::string id = new_uuid();
    const auto begin = Clock::now();
    session.prepared(lab_sql::bench_commit, Parameters{}.text(id).integer(number),
                     {{"table", keyed_table}});
    return seconds_since(begin);
}

class Clerk {
  public:
    Clerk(const Place& place, const Workload& workload, const ConnectionOptions& postgres)
        : workload_(workload), session_(postgres), producer_(options(place)) {}

    double commit(std::int64_t number) { return bench::commit(session_, number); }

    double send(std::int64_t number) {
        const std::string id = key_of(workload_, number);
        const std::int64_t before = producer_.delivered();
        bench::send(producer_, workload_, number, id, payload(id, number));
        const auto deadline = Clock::now() + longest;
        while (producer_.delivered() == before) {
            producer_.poll(1ms);
            if (producer_.failed() > 0) throw std::runtime_error(producer_.first_failure());
            if (Clock::now() > deadline) throw std::runtime_error("the broker is too slow");
        }
        const auto acknowledged = Clock::now();
        while (
            session_
                .prepared(lab_sql::bench_visible, Parameters{}.text(id), {{"table", plain_table}})
                .integer(0, 0) == 0) {
            if (Clock::now() > deadline) throw std::runtime_error("a message never came");
            std::this_thread::sleep_for(look_every);
        }
        return seconds_since(acknowledged);
    }

  private:
    static ProducerOptions options(const Place& place) {
        ProducerOptions options;
        options.bootstrap_servers = place.bootstrap_servers;
        options.linger = 0ms;
        return options;
    }
    const Workload& workload_;
    Connection session_;
    Producer producer_;
};

class File {
  public:
    explicit File(const std::filesystem::path& path)
        : path_(path), descriptor_(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) {
        if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
    }
    ~File() {
        close(descriptor_);
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void append() const {
        static const std::array<char, 8192> block{};
        if (write(descriptor_, block.data(), block.size()) != std::ssize(block) ||
            fsync(descriptor_) != 0) {
            throw std::system_error(errno, std::generic_category(), path_.string());
        }
    }

  private:
    std::filesystem::path path_;
    int descriptor_;
};

}  // namespace

Times time_messages(const Place& place, const Workload& empty_topic, const Plan& plan,
                    Tables& tables, int messages) {
    tables.checkpoint();
    Workers workers(place, empty_topic, plan, tables);
    workers.begin();
    const auto partitions = static_cast<std::size_t>(empty_topic.partitions);
    wait_until([&] { return workers.reading() == partitions; }, "for the fences");
    Clerk clerk(place, empty_topic, tables.options());
    Times times;
    for (int number = 0; number < messages + warm_up; ++number) {
        const double commit = clerk.commit(number);
        std::this_thread::sleep_for(idle);
        const double visible = clerk.send(number);
        std::this_thread::sleep_for(idle);
        if (number < warm_up) continue;
        times.commits.push_back(commit);
        times.visible.push_back(visible);
    }
    workers.stop();
    tables.expect_rows(plain_table, messages + warm_up);
    return times;
}

std::vector<double> time_commits(Tables& tables, int commits) {
    Connection session(tables.options());
    std::vector<double> seconds;
    for (int number = 0; number < commits + warm_up; ++number) {
        const double time = commit(session, number);
        if (number >= warm_up) seconds.push_back(time);
    }
    return seconds;
}

double time_fsync(const std::filesystem::path& folder) {
    const File file(folder / ("onceward-fsync-" + new_uuid()));
    std::vector<double> seconds;
    for (int i = 0; i < fsyncs; ++i) {
        const auto begin = Clock::now();
        file.append();
        seconds.push_back(seconds_since(begin));
    }
    return summarize(std::move(seconds)).median;
}

}  // namespace onceward::bench
