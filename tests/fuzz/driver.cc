// Runs every fuzz target on its corpus and then, for some seconds in all, on mutations of it. This
// is what `make test` has: it needs no compiler but the project's own. libFuzzer, which is led by
// what it reaches, runs the same targets in `make fuzz`.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

// The entries of the targets, each renamed by the build.
#define ONCEWARD_FUZZ_TARGET(name) \
    extern "C" int onceward_fuzz_##name(const std::uint8_t* data, std::size_t size);
ONCEWARD_FUZZ_TARGETS
#undef ONCEWARD_FUZZ_TARGET

// What the sanitizers find ends in keep_input(), too; so does what takes too much memory.
extern "C" const char* __asan_default_options() {
    return "abort_on_error=1:max_allocation_size_mb=256:hard_rss_limit_mb=2048";
}
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace onceward::fuzz {
namespace {

struct Target {
    const char* name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};

std::vector<Target> targets() {
    return {
#define ONCEWARD_FUZZ_TARGET(name) {#name, onceward_fuzz_##name},
        ONCEWARD_FUZZ_TARGETS
#undef ONCEWARD_FUZZ_TARGET
    };
}

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

constexpr std::size_t longest = 4096;
constexpr unsigned seconds_for_one = 30;  // a machine may be busy; none takes a tenth of a second
const std::filesystem::path corpus_folder = ONCEWARD_FUZZ_CORPUS;

// How many inputs are in the target's archive.
std::size_t packed_inputs(const std::string& target) {
    std::ifstream counts(ONCEWARD_SOURCE_FOLDER "/tests/fuzz/corpus/counts");
    std::string name;
    for (std::size_t count = 0; counts >> name >> count;) {
        if (name == target && count > 0) return count;
    }
    throw std::runtime_error("no corpus of " + target);
}

std::vector<std::string> read_corpus(const std::string& target) {
    std::vector<std::string> inputs;
    for (const auto& entry : std::filesystem::directory_iterator(corpus_folder / target)) {
        std::ifstream file(entry.path(), std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    if (inputs.size() != packed_inputs(target)) {
        throw std::runtime_error("the unpacked corpus of " + target + " has " +
                                 std::to_string(inputs.size()) + " inputs, its archive has " +
                                 std::to_string(packed_inputs(target)));
    }
    std::sort(inputs.begin(), inputs.end());  // the same seed does the same everywhere
    return inputs;
}

std::size_t below(Random& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

void mutate_once(std::string& input, const std::vector<std::string>& corpus, Random& random) {
    static constexpr std::string_view telling("\0\1\x7f\x80\xff\"\\{}[]:,;-0e$\n \t'&*", 25);
    const std::size_t at = below(random, input.size() + 1);
    const std::string& other = corpus[below(random, corpus.size())];
    switch (random() % 8) {
        case 0: input.insert(at, 1, telling[below(random, telling.size())]); return;
        case 1: input.erase(at, 1 + below(random, 8)); return;
        case 2:
            input.insert(at, input.substr(below(random, input.size()), below(random, 64)));
            return;
        case 3:
            input.insert(at, other.substr(below(random, other.size()), below(random, 64)));
            return;
        case 4: input.resize(at); return;
        case 5:
            if (at < input.size()) input[at] = static_cast<char>(random());
            return;
        case 6:
            if (at < input.size()) input[at] ^= static_cast<char>(1U << below(random, 8));
            return;
        case 7:
            if (at < input.size()) input[at] = telling[below(random, telling.size())];
            return;
    }
}

// What is run now, for the message of a death.
std::string current;

// The sanitizers' and the oracles' reports go to standard error; this adds the input to them.
void keep_input(int) {
    std::ofstream("fuzz-defect", std::ios::binary) << current;
    static const char message[] = "the input is in the file fuzz-defect of this folder\n";
    [[maybe_unused]] const auto written = write(2, message, sizeof message - 1);
    _exit(1);
}

void run(const Target& target, const std::string& input) {
    current = input;
    alarm(seconds_for_one);
    // A copy of exactly that size: reading after it is seen.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    target.run(bytes.data(), bytes.size());
}

std::size_t fuzz(const Target& target, std::chrono::milliseconds budget, std::uint64_t seed) {
    const std::vector<std::string> corpus = read_corpus(target.name);
    std::cout << corpus.size() << " inputs kept, " << std::flush;
    for (const std::string& input : corpus) run(target, input);
    Random random(seed);
    std::size_t runs = corpus.size();
    for (const auto end = Clock::now() + budget; Clock::now() < end; ++runs) {
        std::string input = corpus[below(random, corpus.size())];
        for (std::size_t i = 0; i <= random() % 6; ++i) mutate_once(input, corpus, random);
        input.resize(std::min(input.size(), longest));
        run(target, input);
    }
    return runs;
}

}  // namespace
}  // namespace onceward::fuzz

int main(int count, char** arguments) {
    using namespace onceward::fuzz;
    // fuzz [SECONDS [SEED [TARGET]]]
    const double seconds = count > 1 ? std::stod(arguments[1]) : 20;
    const std::uint64_t seed = count > 2 ? std::stoull(arguments[2]) : std::random_device{}();
    std::signal(SIGABRT, keep_input);
    std::signal(SIGALRM, keep_input);
    std::size_t chosen = 0;
    for (const Target& target : targets()) {
        chosen += count <= 3 || std::string_view(arguments[3]) == target.name ? 1 : 0;
    }
    std::cout << "seed " << seed << std::endl;
    for (const Target& target : targets()) {
        if (count > 3 && std::string_view(arguments[3]) != target.name) continue;
        const auto budget = std::chrono::milliseconds(
            static_cast<std::int64_t>(seconds * 1000 / static_cast<double>(chosen)));
        std::cout << target.name << ": " << std::flush;
        std::cout << fuzz(target, budget, seed) << " runs" << std::endl;
    }
    return chosen == 0 ? 64 : 0;
}
