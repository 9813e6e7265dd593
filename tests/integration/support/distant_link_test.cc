#include "lab/embedded/distant_link.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <string>
#include <thread>

#include "lab/embedded/socket.h"

namespace onceward {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

Socket socket_with_a_limit() {
    Socket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{20, 0};  // a defect shall not hang the test
    setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return made;
}

// A client and a server that talk through a link.
class DistantLinkTest : public ::testing::Test {
  protected:
    void SetUp() override {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        ASSERT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        ASSERT_EQ(listen(listener_.get(), 1), 0);
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
    }
    Socket connect_to(const DistantLink& link) const {
        Socket client = socket_with_a_limit();
        const sockaddr_in address = loopback(link.port());
        EXPECT_EQ(
            connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return client;
    }
    Socket accepted() const {
        Socket server(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        EXPECT_TRUE(server.open());
        return server;
    }
    // Waits for the end; false where more comes, or nothing at all.
    static bool ended(const Socket& from) {
        char byte = 0;
        return recv(from.get(), &byte, 1, 0) == 0;
    }
    // Until that many came, or the end.
    static std::string read(const Socket& from, std::size_t size) {
        std::string bytes(size, '\0');
        const ssize_t came = recv(from.get(), bytes.data(), size, MSG_WAITALL);
        bytes.resize(came < 0 ? 0 : static_cast<std::size_t>(came));
        return bytes;
    }
    static bool write(const Socket& to, const std::string& bytes) {
        std::size_t sent = 0;
        while (sent < bytes.size()) {
            const ssize_t size =
                send(to.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (size <= 0) return false;
            sent += static_cast<std::size_t>(size);
        }
        return true;
    }

    Socket listener_ = socket_with_a_limit();
    std::uint16_t port_ = 0;
};

TEST_F(DistantLinkTest, AQuestionAndItsAnswerTakeTheRoundTrip) {
    const DistantLink link(port_, milliseconds(40));
    const Socket client = connect_to(link);
    const Socket server = accepted();
    for (int round = 0; round < 5; ++round) {
        const auto begin = steady_clock::now();
        ASSERT_TRUE(write(client, "?"));
        ASSERT_EQ(read(server, 1), "?");
        const auto half = steady_clock::now();
        EXPECT_GE(half - begin, milliseconds(20));
        ASSERT_TRUE(write(server, "!"));
        ASSERT_EQ(read(client, 1), "!");
        EXPECT_GE(steady_clock::now() - half, milliseconds(20));
    }
}

TEST_F(DistantLinkTest, AllOfItArrivesInItsOrderAndThenTheEnd) {
    const DistantLink link(port_, milliseconds(2));
    Socket client = connect_to(link);
    const Socket server = accepted();
    std::string sent;
    for (int number = 0; sent.size() < 40'000'000; ++number) sent += std::to_string(number) + ",";
    std::thread writer([&] {
        EXPECT_TRUE(write(client, sent));
        shutdown(client.get(), SHUT_WR);
    });
    const std::string came = read(server, sent.size());
    EXPECT_TRUE(ended(server));
    writer.join();
    EXPECT_TRUE(came == sent) << came.size() << " of " << sent.size() << " bytes";
    // The other direction is open until it ends as well.
    ASSERT_TRUE(write(server, "the answer"));
    shutdown(server.get(), SHUT_WR);
    EXPECT_EQ(read(client, 10), "the answer");
    EXPECT_TRUE(ended(client));
}

// One that waits at each piece, instead of keeping them, would be read no further than the kernel's
// buffers reach.
TEST_F(DistantLinkTest, MoreIsReadWhileNothingIsDueYet) {
    const DistantLink link(port_, hours(2));
    const Socket client = connect_to(link);
    EXPECT_TRUE(write(client, std::string(40'000'000, 'x')));
}

TEST_F(DistantLinkTest, AServerThatIsNotThereEndsTheConnection) {
    const std::uint16_t port = port_;
    {
        const Socket closed = std::move(listener_);
    }
    const DistantLink link(port, milliseconds(2));
    const Socket client = connect_to(link);
    EXPECT_TRUE(ended(client));
}

}  // namespace
}  // namespace onceward
