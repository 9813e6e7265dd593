#pragma once
// What becomes of a client's socket when its process or its machine is gone. The client's object
// stays usable: all that it sends fails at once.

namespace onceward::campaign::core {

// The server sees the end of the connection, as when the process was killed.
void close_socket(int socket);

// The server sees nothing: its session stays open. Answers with the descriptor that keeps it so,
// which the caller closes.
int leave_socket_open(int socket);

}  // namespace onceward::campaign::core
