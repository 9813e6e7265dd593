#include "cli/page/page.h"

#include <condition_variable>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/admin/access.h"
#include "cli/configuration/units.h"
#include "cli/page/page_files.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutex.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto answers_live = 1s;         // one read for all tabs
constexpr auto note_every = 1s;           // at the process, in memory
constexpr auto rest_after = 60s;          // without a question
constexpr std::size_t most_waiting = 64;  // different questions
constexpr std::size_t most_answers = 64;  // kept
constexpr std::size_t most_of_one = 256;  // who wait for the same answer

HttpResponse sentence(int status, const char* text) {
    return page_answer({{"error", text}}, status);
}

HttpResponse with_headers(HttpResponse response) {
    response.headers.emplace_back("Cache-Control", "no-store");
    add_page_headers(response);
    return response;
}

HttpResponse ask_again() {
    HttpResponse response =
        with_headers(sentence(503, "Too many questions at once; ask again soon."));
    response.headers.emplace_back("Retry-After", "1");
    return response;
}

}  // namespace

struct AdminPage::State {
    struct Kept {
        Clock::time_point at;
        HttpResponse response;
    };

    State(const CurrentConfiguration& from, PageReads::Status status)
        : current(from),
          used(from.get()),
          open(used->admin && open_to_this_machine(used->admin_access, is_loopback(*used->admin))),
          group(used->group),
          reads(*used, std::move(status)),
          thread([this](const std::stop_token& stop) { run(stop); }) {}

    // False: there are too many.
    bool enqueue(const std::string& target, const HttpServer::Answer& answer) {
        const MutexLock lock(mutex);
        if (stopped) return false;
        if (!waiting.contains(target) && waiting.size() >= most_waiting) return false;
        std::vector<HttpServer::Answer>& of_one = waiting[target];
        if (of_one.size() >= most_of_one) return false;
        of_one.push_back(answer);
        wake.notify_all();
        return true;
    }

    void run(const std::stop_token& stop) {
        auto asked = Clock::now();
        bool resting = true;
        MutexLock lock(mutex);
        while (!stop.stop_requested()) {
            const bool any =
                wake.wait_for(lock, stop, note_every,
                              [this]() ONCEWARD_REQUIRES(mutex) { return !waiting.empty(); });
            std::map<std::string, std::vector<HttpServer::Answer>> now;
            now.swap(waiting);
            lock.unlock();
            if (auto next = current.get(); next != used) {
                used = std::move(next);
                reads.use(*used);
                kept.clear();
            }
            reads.look();
            for (const auto& [target, answers] : now) {
                const HttpResponse response = answer_of(target);
                for (const HttpServer::Answer& answer : answers) answer(response);
            }
            if (any) {
                asked = Clock::now();
                resting = false;
            } else if (!resting && Clock::now() - asked > rest_after) {
                reads.rest();
                kept.clear();
                resting = true;
            }
            lock.lock();
        }
    }

    HttpResponse answer_of(const std::string& target) try {
        const auto found = kept.find(target);
        if (found != kept.end() && Clock::now() - found->second.at < answers_live) {
            return found->second.response;
        }
        const auto request = page_request(target);
        if (!request) return with_headers(sentence(400, "The query is not understood."));
        if (kept.size() >= most_answers) kept.clear();
        HttpResponse response = with_headers(reads.answer(*request));
        kept[target] = {Clock::now(), response};
        return response;
    } catch (const std::exception& error) {
        log_error("page.internal", {{"error", error.what()}});
        return with_headers(sentence(500, "No answer; the log says why."));
    }

    void stop() {
        thread.request_stop();
        if (thread.joinable()) thread.join();
        const MutexLock lock(mutex);
        stopped = true;
        for (const auto& [target, answers] : waiting) {
            for (const HttpServer::Answer& answer : answers) answer(ask_again());
        }
        waiting.clear();
    }

    const CurrentConfiguration& current;
    std::shared_ptr<const Configuration> used;  // of the page's thread
    const bool open;  // without credentials, to this machine
    const std::string group;
    // The page's thread alone uses these two.
    PageReads reads;
    std::map<std::string, Kept> kept;
    Mutex mutex;
    std::condition_variable_any wake;
    std::map<std::string, std::vector<HttpServer::Answer>> waiting ONCEWARD_GUARDED_BY(mutex);
    bool stopped ONCEWARD_GUARDED_BY(mutex) = false;
    std::jthread thread;  // the last one: it uses the others
};

bool AdminPage::wanted(const Configuration& configuration) {
    if (!configuration.admin) return false;
    if (!configuration.admin_page.value_or(is_loopback(*configuration.admin))) return false;
    if (!page_files().empty()) return true;
    if (configuration.admin_page) log_warning("page.not_built");
    return false;
}

AdminPage::AdminPage(const CurrentConfiguration& current, PageReads::Status status)
    : state_(std::make_unique<State>(current, std::move(status))) {}

AdminPage::~AdminPage() { stop(); }

void AdminPage::stop() { state_->stop(); }

bool AdminPage::handle(const HttpRequest& request, const HttpServer::Answer& answer) {
    const std::string_view path = path_of(request.target);
    const bool question = path.starts_with("/api/");
    if (!question && path != "/" && !path.starts_with("/assets/")) return false;
    if (state_->open && !names_this_machine(request.headers)) {
        answer(with_headers(sentence(421, "This port answers for its own machine's name alone.")));
    } else if (!question) {
        answer(
            file_response(request).value_or(with_headers(sentence(404, "There is no such file."))));
    } else if (path == "/api/session") {
        answer(with_headers(page_answer({{"group", state_->group}})));
    } else if (!state_->enqueue(request.target, answer)) {
        answer(ask_again());
    }
    return true;
}

}  // namespace onceward
