#include "lab/soak/run.h"

#include <fstream>
#include <stdexcept>
#include <thread>

#include "cli/admin/admin_server.h"
#include "lab/bench/format.h"
#include "lab/bench/machine.h"
#include "lab/queries.h"
#include "lab/soak/load.h"
#include "lab/soak/scene.h"

namespace onceward::soak {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto sample_every = 10s;
constexpr auto empty_every = 30s;
constexpr auto drains_within = 10min;

void write_csv(const std::filesystem::path& path, const Series& series) {
    std::ofstream file(path);
    file << as_csv(series);
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

struct Totals {
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;
    std::int64_t passed = 0;
};
Totals totals(Connection& connection) {
    const QueryResult result = connection.query(lab_sql::soak_totals, {});
    return {result.integer(0, 0), result.integer(0, 1), result.integer(0, 2)};
}

// What a loaded machine may delay is tried again at the next turn.
class Watch {
  public:
    Watch(Scene& scene, const Load& load, const Options& options, Series& series)
        : scene_(scene),
          load_(load),
          options_(options),
          series_(series),
          probe_(scene.probe(options)) {}

    void turn() {
        scene_.expect_running();
        const auto now = Clock::now();
        if (now >= empties_) {
            empties_ = now + empty_every;
            empty();
        }
        if (now >= samples_) {
            samples_ = now + sample_every;
            sample(std::chrono::duration<double>(now - begin_).count());
        }
    }
    void empty() {
        try {
            scene_.sink().take([this] { return load_.sent(); });
        } catch (const PostgresError& error) {
            if (error.diagnosis().connection_lost) throw;
            ++missed_;
        }
    }
    int missed() const { return missed_; }

  private:
    void sample(double seconds) {
        try {
            const Sample taken = probe_.take(seconds);
            // The first one has no sample before it, whose difference it would be.
            if (seconds >= 1) series_.samples.push_back(taken);
            write_csv(options_.csv, series_);
        } catch (const AdminError&) {
            ++missed_;
        }
    }

    Scene& scene_;
    const Load& load_;
    const Options& options_;
    Series& series_;
    Probe probe_;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point empties_ = begin_ + empty_every;
    Clock::time_point samples_ = begin_;
    int missed_ = 0;
};

std::string line_of(const Series& series, std::int64_t sent) {
    const Sample& last = series.samples.back();
    std::string text =
        bench::fixed(last.seconds / 60, 0) + " min, " + bench::grouped(sent) + " messages sent";
    for (std::size_t i = 0; i < curves().size(); ++i) {
        text += "; " + std::string(curves()[i].name) + " " + bench::three_digits(last.values[i]);
    }
    return text;
}

}  // namespace

Count run(const Options& options, Series& series,
          const std::function<void(const std::string&)>& progress) {
    const bench::MachineTime begin = bench::machine_time();
    Scene scene(options);
    Load load(options.bootstrap_servers, topic, scene.messages(), options.rate, options.time);
    Watch watch(scene, load, options, series);
    for (auto says = Clock::now() + 1min; !load.ended();) {
        std::this_thread::sleep_for(500ms);
        watch.turn();
        if (Clock::now() >= says && !series.samples.empty()) {
            says += 1min;
            progress(line_of(series, load.sent()));
        }
    }
    load.end();
    const auto deadline = Clock::now() + drains_within;
    while (totals(scene.connection()).passed < load.sent()) {
        if (Clock::now() > deadline)
            throw std::runtime_error("the worker did not reach the end of the topic");
        scene.expect_running();
        std::this_thread::sleep_for(100ms);
    }
    scene.stop_worker();
    watch.empty();
    const Totals end = totals(scene.connection());
    const Count count = scene.sink().count(load.sent(), end.duplicates);
    series.facts.emplace_back("count", to_text(count));
    series.facts.emplace_back("taken by the host",
                              bench::stolen_between(begin, bench::machine_time()));
    series.facts.emplace_back(
        "not in time",
        bench::grouped(watch.missed()) + " samples or counts, tried again at the next turn");
    write_csv(options.csv, series);
    return count;
}

}  // namespace onceward::soak
