#include "cli/doctor/probe.h"

#include <algorithm>
#include <future>
#include <thread>

#include "cli/configuration/units.h"

namespace onceward {
namespace {

using Clock = std::chrono::steady_clock;

// More at once would make the brokers and the server wait for each other.
constexpr std::size_t at_once = 12;

struct Answer {
    std::vector<ProbeRow> rows;
    std::chrono::microseconds took{0};
};

std::vector<ProbeRow> answer_of(const Probe& probe) {
    try {
        return probe.ask();
    } catch (const std::exception& error) {
        const std::string text = error.what();
        // libpq's further lines are guesses.
        return {{ProbeVerdict::fault, text.substr(0, text.find('\n')), ""}};
    }
}

// The thread owns the probe and the promise, so that it may live longer than run_probes().
std::future<Answer> start(const Probe& probe) {
    std::promise<Answer> promise;
    std::future<Answer> answer = promise.get_future();
    std::thread([probe, promise = std::move(promise)]() mutable {
        const auto begin = Clock::now();
        std::vector<ProbeRow> rows = answer_of(probe);
        promise.set_value({std::move(rows), std::chrono::duration_cast<std::chrono::microseconds>(
                                                Clock::now() - begin)});
    }).detach();
    return answer;
}

ProbeResult take(const Probe& probe, std::future<Answer>& answer, Clock::time_point deadline,
                 std::chrono::milliseconds limit) {
    ProbeResult result{probe.area, probe.name, {}};
    if (answer.wait_until(deadline) == std::future_status::ready) {
        Answer given = answer.get();
        result.rows = std::move(given.rows);
        result.took = given.took;
        return result;
    }
    result.answered = false;
    result.took = limit;
    result.rows = {{ProbeVerdict::fault, "no answer within " + duration_text(limit),
                    "Ask again with a longer --timeout; then look at the network between here and "
                    "there."}};
    return result;
}

}  // namespace

std::string_view to_text(ProbeVerdict verdict) {
    switch (verdict) {
        case ProbeVerdict::ok: return "ok";
        case ProbeVerdict::note: return "note";
        case ProbeVerdict::warning: return "warning";
        case ProbeVerdict::fault: return "fault";
    }
    return "";
}

std::vector<ProbeResult> run_probes(const std::vector<Probe>& probes,
                                    std::chrono::milliseconds limit) {
    std::vector<ProbeResult> results;
    for (std::size_t begin = 0; begin < probes.size(); begin += at_once) {
        const std::size_t end = std::min(probes.size(), begin + at_once);
        std::vector<std::future<Answer>> answers;
        for (std::size_t i = begin; i < end; ++i) answers.push_back(start(probes[i]));
        const auto deadline = Clock::now() + limit;
        for (std::size_t i = begin; i < end; ++i) {
            results.push_back(take(probes[i], answers[i - begin], deadline, limit));
        }
    }
    return results;
}

ProbeVerdict worst(const std::vector<ProbeResult>& results) {
    ProbeVerdict verdict = ProbeVerdict::ok;
    for (const ProbeResult& result : results) {
        for (const ProbeRow& row : result.rows) {
            if (row.verdict != ProbeVerdict::note) verdict = std::max(verdict, row.verdict);
        }
    }
    return verdict;
}

}  // namespace onceward
