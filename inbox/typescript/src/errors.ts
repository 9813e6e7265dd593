// Errors. Those of the database have its SQLSTATE, and the driver's error as their cause.

/** The base of all errors of this package. */
export class InboxError extends Error {
  /** Undefined if the error does not come from the database. */
  readonly sqlstate: string | undefined;

  constructor(message: string, options: { sqlstate?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.sqlstate = options.sqlstate;
  }
}

/** OW001: the transaction is not READ COMMITTED. */
export class IsolationError extends InboxError {}
/** OW002: the ledger has no inbox, or its store does not fit the call. */
export class LedgerError extends InboxError {}
/** OW003: the role may not use this ledger or operation. */
export class NotAllowedError extends InboxError {}
/** OW004: an argument is missing or not valid. Many are found before anything is sent. */
export class ArgumentError extends InboxError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { ...options, sqlstate: "OW004" });
  }
}
/** OW005: COMMIT of a claim without finish(). */
export class UnfinishedError extends InboxError {}
/** OW006: finish() of a key that this transaction has not claimed. */
export class NotClaimedError extends InboxError {}
/** OW007: the result is larger than the ledger allows. */
export class ResultTooLargeError extends InboxError {}
/** 55P03: another transaction holds the key, or the ledger, for longer than the wait. */
export class BusyError extends InboxError {}

/** The schema's inbox is another version than this package was written for. */
export class VersionError extends InboxError {}
/** The key was used before with another fingerprint. */
export class ConflictError extends InboxError {}
/** The operation took effect before, or may have, and no result of it is kept. */
export class OutcomeUnknownError extends InboxError {}
/** The key was minted before the ledger's memory begins. */
export class ExpiredError extends InboxError {}
/** Somebody else holds the lease, for `remaining` more milliseconds. */
export class InFlightError extends InboxError {
  constructor(readonly remaining: number) {
    super(`another call holds the key for ${Math.ceil(remaining)} ms`);
  }
}
/** The operation has failed for good. Throw it to store that; later calls get it again. */
export class Failed extends InboxError {
  constructor(
    readonly status: number,
    readonly body?: unknown,
  ) {
    super(`the operation failed for good, with status ${status}`);
  }
}

const classes = new Map<string, typeof InboxError>([
  ["OW001", IsolationError],
  ["OW002", LedgerError],
  ["OW003", NotAllowedError],
  ["OW004", ArgumentError],
  ["OW005", UnfinishedError],
  ["OW006", NotClaimedError],
  ["OW007", ResultTooLargeError],
  ["55P03", BusyError],
]);

/** The SQLSTATE of an error of this package or of the driver. */
export function sqlstateOf(error: unknown): string | undefined {
  if (error instanceof InboxError) return error.sqlstate;
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  // Node.js has codes too, such as EPIPE. Only PostgreSQL's errors have a severity.
  return typeof code === "string" && typeof severity === "string" ? code : undefined;
}

/** The package's error for the driver's; any other error as it is. */
export function translated(error: unknown): unknown {
  const sqlstate = error instanceof InboxError ? undefined : sqlstateOf(error);
  const kind = sqlstate === undefined ? undefined : classes.get(sqlstate);
  if (sqlstate === undefined || kind === undefined) return error;
  const { message, hint } = error as { message: string; hint?: string };
  return new kind(hint ? `${message}. ${hint}` : message, { sqlstate, cause: error });
}

const retryable = new Set("40001 40P01 55P03 25P03 57P01 57P02 57P03 57P05".split(" "));
const lost = new Set(
  (
    "ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH " +
    "ERR_STREAM_DESTROYED ERR_STREAM_WRITE_AFTER_END"
  ).split(" "),
);
// The driver's words; these errors have no code.
const lostWords = new RegExp(
  "^(Connection terminated|Client has encountered a connection error|Client was closed|" +
    "Query read timeout)",
);

/** Whether to run the whole transaction again, with the same attempt. */
export function isRetryable(error: unknown): boolean {
  const sqlstate = sqlstateOf(error);
  if (sqlstate !== undefined) return retryable.has(sqlstate) || sqlstate.startsWith("08");
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return lost.has(String(code)) || (error instanceof Error && lostWords.test(String(message)));
}

/** Whether a Pool of pg had no connection to lend within its `connectionTimeoutMillis`. */
export function poolWasEmpty(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}
