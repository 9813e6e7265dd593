// A port that is held for a server: nobody else gets it, and the server may come and go.

#include "lab/embedded/reserved_port.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/embedded/socket.h"

namespace onceward {
namespace {

// Whether somebody who does, or does not, ask for SO_REUSEADDR may bind it and listen there.
bool listens(std::uint16_t port, bool reuse) {
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int value = reuse ? 1 : 0;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &value, sizeof value);
    const sockaddr_in address = loopback(port);
    const bool bound =
        bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const bool listening = bound && listen(server, 1) == 0;
    close(server);
    return listening;
}

TEST(ReservedPort, LetsAServerListenAgainAndAgainAndKeepsOthersOut) {
    const ReservedPort port;
    EXPECT_FALSE(listens(port.number(), false));
    EXPECT_TRUE(listens(port.number(), true));
    EXPECT_TRUE(listens(port.number(), true));
    EXPECT_FALSE(listens(port.number(), false));
}

TEST(ReservedPort, IsFreeOnceItIsGone) {
    std::uint16_t number = 0;
    {
        ReservedPort first;
        number = first.number();
        const ReservedPort second = std::move(first);
        EXPECT_EQ(second.number(), number);
        EXPECT_FALSE(listens(number, false));
    }
    EXPECT_TRUE(listens(number, false));
}

}  // namespace
}  // namespace onceward
