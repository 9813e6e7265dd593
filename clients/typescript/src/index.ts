// HTTP calls under an idempotency key that is kept over retries and over restarts of the caller.

export { Answer, type Problem } from "./answers.js";
export { Client, type Call, type Options } from "./client.js";
export {
  AnswerGoneError,
  ConnectionFailedError,
  KeyInFlightError,
  KeyRefusedError,
  KeyReusedError,
  NotAuthorizedError,
  OncewardError,
  OperationChangedError,
  OperationExpiredError,
  ProblemError,
  RejectedError,
  ServerError,
  StoreError,
  TooManyRequestsError,
} from "./errors.js";
export { FileStore, type Entry, type Store } from "./store.js";
export { mintKey } from "./keys.js";
export { type Retries } from "./policy.js";
