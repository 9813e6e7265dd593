// A shop whose orders are idempotent, for the tests of the middleware.

import assert from "node:assert/strict";
import express, { type Express } from "express";
import type { AddressInfo } from "node:net";

import { Inbox } from "../src/index.js";
import { idempotent, type MiddlewareOptions } from "../src/express.js";
import { effect, effects, fresh, makePool } from "./database.js";

export const pool = makePool();

export class Shop {
  readonly operation = fresh("POST /orders");
  readonly app: Express;
  calls = 0;
  /** What the handler does after its effect. */
  then: (response: express.Response, request: express.Request) => unknown = (response) =>
    response.status(201).json({ id: this.calls });
  private url = "";

  constructor(of: typeof express, changes: Partial<MiddlewareOptions<express.Request>> = {}) {
    this.app = of();
    const inbox = new Inbox({ operation: this.operation, ledger: "typescript_table" });
    const retries = { pause: 5 };
    this.app.use(idempotent<express.Request>({ pool, inbox, retries, ...changes }));
    this.app.use(of.json(), of.text());
    this.app.all(of === express ? "/{*any}" : "*", (request, response, next) => {
      void this.handle(request, response).catch(next);
    });
    const failed: express.ErrorRequestHandler = (error: Error, _request, response, _next) => {
      response.status(500).json({ error: error.name, message: error.message });
    };
    this.app.use(failed);
  }

  async handle(request: express.Request, response: express.Response): Promise<void> {
    this.calls += 1;
    if (request.onceward !== undefined) await effect(request.onceward.client, this.operation);
    await this.then(response, request);
  }

  async use(test: (shop: this) => Promise<void>): Promise<void> {
    const server = this.app.listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await test(this);
    } finally {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
  }

  /** Sends a request; `key` is the header as it is written. */
  async post(key: string | undefined, body: unknown = { amount: 5 }, target = "/orders") {
    return this.send("POST", target, key, JSON.stringify(body));
  }

  async send(method: string, target: string, key?: string, body?: RequestInit["body"]) {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (key !== undefined) headers["Idempotency-Key"] = key;
    const streamed = body instanceof ReadableStream ? { duplex: "half" } : {};
    const answer = await fetch(this.url + target, {
      method,
      headers,
      body: body ?? null,
      ...streamed,
    } as RequestInit);
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      replayed: answer.headers.get("Idempotent-Replayed"),
    };
  }

  async isProblem(
    key: string | undefined,
    status: number,
    name: string,
    body?: unknown,
  ): Promise<void> {
    const answer = await this.post(key, body);
    const problem = JSON.parse(answer.text) as Record<string, unknown>;
    assert.deepEqual([answer.status, problem["type"]], [status, `/onceward/problems/${name}`]);
    assert.equal(answer.headers.get("Content-Type"), "application/problem+json");
    assert.equal(problem["status"], status);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }
}

export function withShop(
  of: typeof express,
  run: (shop: Shop) => Promise<void>,
  changes: Partial<MiddlewareOptions<express.Request>> = {},
): Promise<void> {
  return new Shop(of, changes).use(run);
}

export async function count(shop: Shop, wanted: number): Promise<void> {
  assert.equal(await effects(pool, shop.operation), wanted);
}
