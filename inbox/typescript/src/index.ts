// What the package exports; the middleware is in "onceward-inbox/express".

export * from "./errors.js";
export * from "./inbox.js";
export { once, type InsideOptions, type OutsideOptions } from "./once.js";
export { inTransaction, type Lender, type Retries } from "./transaction.js";
export { mintedAtOfUuid7, uuid7 } from "./uuid7.js";
export type { Claim, Fingerprint, Header, Key, Lease, Outcome, Time } from "./values.js";
