// An answer that is kept back until its transaction is committed.

import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";

import { setHeaders } from "./http.js";

export interface Answer {
  status: number;
  message: string;
  /** By their names in lower case. */
  headers: Map<string, string[]>;
  body: Buffer;
  /** What the handler gave to end(). */
  done: (() => void) | undefined;
}

/** Takes the place of a response's methods that send. */
export class HeldAnswer {
  /** Called once, when the handler ends its answer. */
  onEnd: (answer: Answer) => void = () => {};
  private readonly before = new Set<string>();
  private readonly chunks: Buffer[] = [];
  private ended = false;
  private readonly originals: Pick<ServerResponse, "write" | "end" | "writeHead" | "flushHeaders">;

  constructor(private readonly response: ServerResponse) {
    const { write, end, writeHead, flushHeaders } = response;
    this.originals = { write, end, writeHead, flushHeaders };
    for (const name of response.getHeaderNames()) this.before.add(name);
    response.write = (...words: unknown[]): boolean => {
      this.take(words)?.();
      return true;
    };
    response.end = (...words: unknown[]): ServerResponse => {
      const done = this.take(words);
      if (!this.ended) {
        this.ended = true;
        this.onEnd(this.answer(done));
      }
      return response;
    };
    response.writeHead = (status: number, ...words: unknown[]): ServerResponse => {
      response.statusCode = status;
      if (typeof words[0] === "string") response.statusMessage = words.shift() as string;
      this.setHeaders(words[0] as OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined);
      return response;
    };
    response.flushHeaders = () => {};
  }

  /** Sends the answer, without what was set after its end. */
  send({ status, message, headers, body, done }: Answer): void {
    const { response } = this;
    this.restore();
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    for (const [name, values] of headers) {
      response.setHeader(name, values.length === 1 ? values[0]! : values);
    }
    response.statusCode = status;
    response.statusMessage = message;
    response.end(body, done);
  }

  /** Makes the response ready for another answer. */
  discard(): void {
    this.restore();
    for (const name of this.response.getHeaderNames()) {
      if (!this.before.has(name)) this.response.removeHeader(name);
    }
    this.response.statusCode = 200;
    this.response.statusMessage = "";
  }

  private restore(): void {
    Object.assign(this.response, this.originals);
  }

  // The words of write() and end(): a chunk, its encoding, a callback; each may be missing.
  private take(words: unknown[]): (() => void) | undefined {
    const [chunk, encoding] = words;
    if (!this.ended && typeof chunk === "string") {
      const named = typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8";
      this.chunks.push(Buffer.from(chunk, named));
    } else if (!this.ended && chunk instanceof Uint8Array) {
      this.chunks.push(Buffer.from(chunk));
    }
    return words.find((word): word is () => void => typeof word === "function");
  }

  private answer(done: (() => void) | undefined): Answer {
    const { response } = this;
    const headers = new Map<string, string[]>();
    for (const name of response.getHeaderNames()) {
      headers.set(name, [response.getHeader(name) ?? []].flat().map(String));
    }
    return {
      status: response.statusCode,
      message: response.statusMessage,
      headers,
      body: Buffer.concat(this.chunks),
      done,
    };
  }

  private setHeaders(headers: OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined): void {
    if (!Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers ?? {})) {
        if (value !== undefined) this.response.setHeader(name, value);
      }
      return;
    }
    // Names and values in turn, or pairs of them.
    const flat = headers.flat().map(String);
    const pairs = flat.flatMap((name, i) => (i % 2 ? [] : [{ name, value: flat[i + 1] ?? "" }]));
    setHeaders(this.response, pairs);
  }
}
