// What comes back: an answer, and the problem (RFC 9457) that a refusal is told by.

/** A problem's members; those that the RFC does not name are in `extensions`. */
export interface Problem {
  type: string;
  /** After `/onceward/problems/`; another server's whole type; or "". */
  name: string;
  title: string;
  status: number;
  detail: string;
  extensions: Record<string, unknown>;
}

/** A final answer, wholly read. */
export class Answer {
  constructor(
    readonly status: number,
    readonly headers: Headers,
    readonly bytes: Uint8Array,
    readonly key: string,
    /** Of this call. */
    readonly attempts: number,
  ) {}

  /**
   * It is of an earlier attempt: `Idempotent-Replayed: true`, also several times. Where one says
   * otherwise the answer counts as the first one.
   */
  get replayed(): boolean {
    const values = (this.headers.get("Idempotent-Replayed") ?? "").split(",");
    return values.every((value) => value.trim().toLowerCase() === "true");
  }

  text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  json(): unknown {
    return JSON.parse(this.text());
  }
}

export function parseProblem(answer: Answer): Problem | undefined {
  const mediaType = (answer.headers.get("Content-Type") ?? "").split(";")[0] ?? "";
  if (mediaType.trim().toLowerCase() !== "application/problem+json") return undefined;
  let found: unknown;
  try {
    found = answer.json();
  } catch {
    return undefined;
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) return undefined;
  const { type, title, status, detail, ...extensions } = found as Record<string, unknown>;
  const whole = typeof type === "string" ? type : "about:blank";
  return {
    type: whole,
    name: whole === "about:blank" ? "" : whole.replace(/^\/onceward\/problems\//, ""),
    title: typeof title === "string" ? title : "",
    status: typeof status === "number" ? status : 0,
    detail: typeof detail === "string" ? detail : "",
    extensions,
  };
}
