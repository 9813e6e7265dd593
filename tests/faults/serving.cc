#include "tests/faults/serving.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "tests/faults/crash_scene.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/eventually.h"

namespace onceward::faults {

Serving::Serving(const std::filesystem::path& folder, const std::string& name,
                 const std::string& routes)
    : configuration_(folder / (name + ".yaml")), log_(folder / (name + ".log")) {
    std::ofstream file(configuration_);
    file << "http:\n  listen: 127.0.0.1:" << port_.number() << "\n" << routes;
    file.flush();
    if (!file) throw std::runtime_error("cannot write the configuration");
    cutting_.cut_at(support::CuttingProxy::Direction::to_client, 1);
}

void Serving::start() {
    launch({ONCEWARD_EXECUTABLE, "serve", "--config", configuration_.string()}, {});
    ASSERT_TRUE(support::eventually(patience, [&] {
        return support::accepts_connections(port_.number());
    })) << log();
}

void Serving::kill_after(std::chrono::milliseconds moment) {
    ASSERT_FALSE(process_->wait(moment)) << "it left unasked\n" << log();
    process_->send(SIGKILL);
    ASSERT_TRUE(process_->wait(patience));
}

void Serving::kill_when(const std::function<bool()>& moment) {
    ASSERT_TRUE(support::eventually(patience, moment)) << "that did not come about\n" << log();
    process_->send(SIGKILL);
    ASSERT_TRUE(process_->wait(patience));
}

void Serving::die_at(const std::string& step) {
    launch({ONCEWARD_FAULTY_EXECUTABLE, "serve", configuration_.string()},
           {"ONCEWARD_KILL_AT=" + step});
    const std::optional<int> status = process_->wait(patience);
    ASSERT_TRUE(status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)
        << step << " was not reached\n"
        << log();
}

void Serving::stop() {
    process_->send(SIGTERM);
    const std::optional<int> status = process_->wait(patience);
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << log();
}

void Serving::launch(std::vector<std::string> command, std::vector<std::string> environment) {
    ChildOptions options;
    options.command = std::move(command);
    options.environment = std::move(environment);
    options.output = log_;
    process_.emplace(options);
}

}  // namespace onceward::faults
