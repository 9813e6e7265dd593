// An HTTP server on 127.0.0.1 that answers as it is told, one answer after the other.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The connection: before anything is answered, in the head, in the body. */
  cut?: "before" | "head" | "body";
}

export interface Seen {
  method: string;
  target: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export function problem(status: number, name: string, more: object = {}, retryAfter = ""): Reply {
  const headers: Record<string, string> = { "Content-Type": "application/problem+json" };
  if (retryAfter !== "") headers["Retry-After"] = retryAfter;
  const members = { type: `/onceward/problems/${name}`, title: name, status, ...more };
  return { status, headers, body: JSON.stringify(members) };
}

export const cut: Reply = { cut: "before" };
export const cutInHead: Reply = { cut: "head" };
export const cutInBody: Reply = { cut: "body", body: "half of it" };
export const inFlight = problem(409, "key-in-flight", {}, "0");
export const unavailable = problem(503, "unavailable");
export const replayed: Reply = {
  status: 201,
  headers: { "Idempotent-Replayed": "true" },
  body: '{"id":7}',
};

/** `replies` in their order; the last one for all further requests. */
export class ScriptedServer {
  readonly seen: Seen[] = [];
  onRequest: (seen: Seen) => void | Promise<void> = () => {};
  private readonly server: Server;

  private constructor(replies: Reply[]) {
    const script = [...replies];
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        void (async () => {
          const { method = "", url = "", headers } = request;
          const body = Buffer.concat(chunks).toString();
          const seen: Seen = { method, target: url, headers, body };
          this.seen.push(seen);
          await this.onRequest(seen);
          const reply = (script.length > 1 ? script.shift() : script[0]) ?? {};
          if (reply.cut === "before") return request.socket.destroy();
          if (reply.cut === "head") return request.socket.end("HTTP/1.1 200 OK\r\nContent-Le");
          const text = reply.body ?? "";
          const length = text.length + (reply.cut ? 10 : 0);
          response.writeHead(reply.status ?? 200, { "Content-Length": length, ...reply.headers });
          response.write(text, () => reply.cut && request.socket.destroy());
          if (!reply.cut) response.end();
          return undefined;
        })();
      });
    });
  }

  static async start(...replies: Reply[]): Promise<ScriptedServer> {
    const made = new ScriptedServer(replies);
    await new Promise<void>((done) => made.server.listen(0, "127.0.0.1", done));
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get keys(): string[] {
    return this.seen.map((seen) => String(seen.headers["idempotency-key"]));
  }

  async stop(): Promise<void> {
    const closed = new Promise((done) => this.server.close(done));
    this.server.closeAllConnections();
    await closed;
  }
}

/** Runs a test with a server that ends with it. */
export async function withServer(
  replies: Reply[],
  test: (server: ScriptedServer) => Promise<void>,
): Promise<void> {
  const server = await ScriptedServer.start(...replies);
  try {
    await test(server);
  } finally {
    await server.stop();
  }
}
