// The parts of HTTP that need no transaction: the key, the request's body, headers, problems.

import type { IncomingMessage, ServerResponse } from "node:http";

import { digestOf, type Header } from "./values.js";

/** A request as Express has it. */
export interface HttpRequest extends IncomingMessage {
  originalUrl?: string;
  body?: unknown;
  /** The body's bytes, if a parser has kept them. */
  rawBody?: unknown;
}

// As Onceward's front door names them.
const problems = {
  "tenant-missing": [400, "The tenant is missing"],
  "key-missing": [400, "The idempotency key is missing"],
  "key-malformed": [400, "The idempotency key is not valid"],
  "key-in-flight": [409, "A request with this idempotency key is still being processed"],
  "outcome-unknown": [
    409,
    "Whether the request with this idempotency key took effect is not known",
  ],
  "answer-gone": [410, "It was carried out; its answer is no longer kept"],
  "key-expired": [412, "The idempotency key is older than the memory of this service"],
  "body-too-large": [413, "The body is too large"],
  "key-reused": [422, "The idempotency key was used before with another request"],
  unavailable: [503, "Not available now; try again with the same key"],
} as const;

/** A refusal, as problem+json (RFC 9457). */
export class Problem {
  constructor(
    readonly name: keyof typeof problems,
    readonly detail: string,
    readonly retryAfter?: number,
  ) {}

  send(response: ServerResponse): void {
    const [status, title] = problems[this.name];
    const { name, detail } = this;
    response.statusCode = status;
    response.setHeader("Content-Type", "application/problem+json");
    // A cache must not answer the next request with it.
    response.setHeader("Cache-Control", "no-store");
    // The rest of such a body is not read, so no other request can follow on the connection.
    if (name === "body-too-large") response.setHeader("Connection", "close");
    if (this.retryAfter !== undefined) response.setHeader("Retry-After", this.retryAfter);
    response.end(JSON.stringify({ type: `/onceward/problems/${name}`, title, status, detail }));
  }
}

const quoted = /"((?:[ !#-[\]-~]|\\["\\])*)"/.source;
const number = "-?[0-9]{1,15}(?:\\.[0-9]{1,3})?";
const token = "[A-Za-z*][\\w!#$%&'*+.^`|~:/-]*";
const bareItem = `${quoted}|${number}|\\?[01]|:[A-Za-z0-9+/]*={0,2}:|${token}`;
const structured = new RegExp(`^ *${quoted}(?:; *[a-z*][a-z0-9_.*-]*(?:=(?:${bareItem}))?)* *$`);
// DANGER: no comma. Two lines that a proxy has joined would pass for a third key.
const bare = /^[!#-+\--~]*$/;

/** The key, and the header's value as it was written. */
export function readKey(
  request: IncomingMessage,
  header: string,
): { key: string; written: string } {
  const values = request.headersDistinct[header.toLowerCase()] ?? [];
  const [written] = values;
  if (written === undefined) {
    throw new Problem("key-missing", `This operation needs the header ${header}.`);
  }
  if (values.length > 1) throw new Problem("key-malformed", `${header} was sent more than once.`);
  const text = bare.test(written)
    ? written
    : structured.exec(written)?.[1]?.replace(/\\(["\\])/g, "$1");
  if (text === undefined) {
    const form =
      "printable ASCII without blanks and commas, or a string in double quotes (RFC 8941)";
    throw new Problem("key-malformed", `${header} must be ${form}.`);
  }
  if (text.length < 1 || text.length > 255) {
    throw new Problem("key-malformed", `${header} must have 1 to 255 characters.`);
  }
  return { key: text, written };
}

/** The fingerprint of a request, as Onceward's front door computes it. */
export function requestFingerprint(request: HttpRequest, body: Buffer): { uuid: string } {
  const target = request.originalUrl ?? request.url ?? "";
  const parts = ["onceward http fingerprint", request.method ?? "", target].map((text) =>
    Buffer.from(text),
  );
  const framed = [...parts, body].flatMap((part) => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(part.length));
    return [length, part];
  });
  return { uuid: digestOf(...framed) };
}

/** The request's body as it was sent. The stream then has it again, for the parsers that follow. */
export async function readBody(request: HttpRequest, most: number): Promise<Buffer> {
  const { rawBody, body, headers } = request;
  if (rawBody instanceof Uint8Array) return Buffer.from(rawBody);
  if (body instanceof Uint8Array || typeof body === "string") return Buffer.from(body as string);
  const length = headers["content-length"] ?? "0";
  if (headers["transfer-encoding"] === undefined && Number(length) === 0) return Buffer.alloc(0);
  if (request.readableDidRead) {
    throw new Error(
      "the request's body was parsed before: put the middleware before express.json(), or let a " +
        "parser's `verify` keep the bytes in request.rawBody",
    );
  }
  if (Number(length) > most) throw tooLarge(most);
  return readWhole(request, most);
}

function tooLarge(most: number): Problem {
  return new Problem("body-too-large", `The body may have ${most} bytes.`);
}

function readWhole(request: IncomingMessage, most: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (error?: unknown): void => {
      request.off("readable", read).off("error", settle).off("close", onClose);
      if (error !== undefined) {
        request.resume(); // Its client reads no answer while it cannot send.
        return reject(error);
      }
      const whole = Buffer.concat(chunks);
      // At once: the event `end` is next, and after it the stream takes nothing back.
      if (size > 0) request.unshift(whole);
      resolve(whole);
    };
    const onClose = (): void => settle(new Error("the request broke off"));
    const read = (): void => {
      for (let chunk: unknown; (chunk = request.read()) !== null;) {
        chunks.push(chunk as Buffer);
        size += (chunk as Buffer).length;
        if (size > most) return settle(tooLarge(most));
      }
      if (request.complete) settle();
    };
    request.on("readable", read).on("error", settle).on("close", onClose);
  });
}

// Headers of one hop, those that reveal the caller, and those that are written for each answer.
const notStored = new Set(
  (
    "connection http2-settings keep-alive proxy-authenticate proxy-authentication-info " +
    "proxy-authorization proxy-connection te trailer transfer-encoding upgrade " +
    "authentication-info authorization content-length cookie set-cookie set-cookie2 " +
    "www-authenticate date idempotent-replayed"
  ).split(" "),
);

/** The headers of an answer that are stored and replayed; the names are in lower case. */
export function storedHeaders(headers: Map<string, string[]>, keyHeader: string): Header[] {
  const hop = (headers.get("connection") ?? [])
    .join()
    .toLowerCase()
    .split(/[\s,]+/);
  const left = new Set([...notStored, ...hop, keyHeader.toLowerCase()]);
  const kept = [...headers].filter(([name]) => !left.has(name));
  return kept.flatMap(([name, values]) => values.map((value) => ({ name, value })));
}

/** Sets stored headers, in place of what is there. */
export function setHeaders(response: ServerResponse, headers: Header[]): void {
  for (const { name } of headers) response.removeHeader(name);
  for (const { name, value } of headers) response.appendHeader(name, value);
}
