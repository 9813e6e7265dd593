// A way to a server on which the first answer is lost: the request has come, and took effect.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export async function withLosingProxy(
  target: string,
  test: (url: string) => Promise<void>,
): Promise<void> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let lost = false;
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => (socket === client ? server : client).destroy());
    }
    client.on("data", (data) => server.write(data));
    server.on("data", (data) => {
      if (lost) return client.write(data);
      lost = true;
      return client.destroy();
    });
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  try {
    await test(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => proxy.close(done));
  }
}
