/** Every way in which the query service refuses a request: one table, from which the documentation is made. */
import { Refusal, type RefusalDetails } from '../protocol/refusal.ts'

interface ErrorEntry {
  readonly status: number
  readonly title: string
  /** What the caller can do about it; printed in the documentation. */
  readonly advice: string
}

export const QUERY_ERRORS = {
  'Request.BadJson': { status: 400, title: 'The body is not JSON', advice: 'Send valid JSON in UTF-8.' },
  'Request.BadBody': {
    status: 400,
    title: 'The body has the wrong shape',
    advice: 'Follow the shape that the detail names.',
  },
  'Request.BadParameter': {
    status: 400,
    title: 'A query parameter is wrong',
    advice: 'Correct the parameter that the detail names.',
  },
  'Request.BadRequestId': {
    status: 400,
    title: 'The Request-Id cannot be used',
    advice: 'Use 1 to 128 visible ASCII characters that no running query of yours bears.',
  },
  'Request.BadCursor': {
    status: 400,
    title: 'The cursor does not belong to this request',
    advice: 'Repeat the request that gave the cursor, adding only `after`.',
  },
  'Request.TooLarge': {
    status: 413,
    title: 'The request is too large',
    advice: 'Send less at once, or raise the limit in the settings.',
  },
  'Request.Unsupported': {
    status: 415,
    title: 'The content type is not supported',
    advice: 'Send text/plain in UTF-8 or application/json.',
  },
  'Request.NotAcceptable': {
    status: 406,
    title: 'No result format fits the Accept header',
    advice: 'Accept JSON, NDJSON, CSV or an Arrow stream.',
  },
  'Request.UnknownRequest': {
    status: 404,
    title: 'No running query bears this Request-Id',
    advice: 'It may have ended already.',
  },
  'Request.IdempotencyMismatch': {
    status: 422,
    title: 'The Idempotency-Key was used for another body',
    advice: 'Use a new key for a new request.',
  },
  'Auth.Required': {
    status: 401,
    title: 'An access token is required',
    advice: 'Send `Authorization: Bearer` with a token for the platform.',
  },
  'Auth.InvalidToken': {
    status: 401,
    title: 'The access token is not valid',
    advice: 'Refresh the token and try again.',
  },
  'Auth.MissingScope': {
    status: 403,
    title: 'The access token lacks a scope',
    advice: 'Ask for a token with the scope in `Scope`.',
  },
  'Data.UnknownTable': {
    status: 404,
    title: 'There is no such table',
    advice: 'Look in cataloguetables for the tables that you may read.',
  },
  'Data.BadValue': {
    status: 422,
    title: 'A value does not fit its type',
    advice: 'Correct the value that the detail names.',
  },
  'Data.UniqueViolation': {
    status: 409,
    title: 'A row with this key exists',
    advice: 'Change the key, or use ON CONFLICT.',
  },
  'Data.TableExists': { status: 409, title: 'The name is taken', advice: 'Choose another name.' },
  'Data.ReservedName': {
    status: 400,
    title: 'The name is kept for the service',
    advice: 'Choose a name that does not begin with _gh_ or sqlite_.',
  },
  'Data.Conflict': { status: 409, title: 'The change conflicts with another', advice: 'Try again.' },
  'Data.ReadOnly': {
    status: 403,
    title: 'The table cannot be written',
    advice: 'System tables other than CatalogueTable are read-only.',
  },
  'Data.WritesStopped': {
    status: 503,
    title: 'Nothing can be written',
    advice: 'The disk failed under the database: its operator has to see to it and restart the server.',
  },
  'Criteria.UnknownOperator': {
    status: 400,
    title: 'The operator is unknown',
    advice: 'Use one of the operators in `Expected`.',
  },
  'Criteria.UnknownColumn': {
    status: 400,
    title: 'The column is unknown',
    advice: 'Use one of the columns in `Expected`.',
  },
  'Criteria.BadNull': { status: 400, title: 'Null cannot be compared so', advice: 'Use `is null` or `is not null`.' },
  'Limit.Time': {
    status: 408,
    title: 'The time limit was reached',
    advice: 'Ask for less, or raise the limit in the settings.',
  },
  'Limit.Cancelled': {
    status: 499,
    title: 'The query was cancelled',
    advice: 'Somebody with the right to do so cancelled it.',
  },
  'Limit.Concurrency': {
    status: 429,
    title: 'Too many queries at once',
    advice: 'Wait for one of your queries to end.',
  },
  'Limit.Complexity': {
    status: 400,
    title: 'The statement is too large for the database',
    advice: 'Split the statement.',
  },
  'Limit.Bytes': {
    status: 422,
    title: 'The result is too large for its format',
    advice: 'Ask for pages with `limit`, or for NDJSON, which says where it was cut.',
  },
  'Limit.Memory': { status: 422, title: 'The query needs too much memory', advice: 'Ask for less at once.' },
  'Limit.Overload': {
    status: 503,
    title: 'The service is busy',
    advice: 'Try again after the seconds in Retry-After.',
  },
} as const satisfies Record<string, ErrorEntry>

export type QueryErrorCode = keyof typeof QUERY_ERRORS

export function refuse(code: QueryErrorCode, detail: string, details: RefusalDetails = {}): Refusal {
  return new Refusal(code, QUERY_ERRORS[code].status, detail, details)
}
