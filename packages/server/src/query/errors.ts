/** The error codes of the query service. The documentation is generated from this table. */
import { Refusal, type RefusalDetails } from 'gatehouse-protocol'

interface ErrorEntry {
  readonly status: number
  readonly title: string
  /** What the caller can do about it, for the documentation. */
  readonly advice: string
}

export const QUERY_ERRORS = {
  'Request.BadJson': { status: 400, title: 'The body is not JSON', advice: 'Send valid JSON in UTF-8.' },
  'Request.BadBody': {
    status: 400,
    title: 'The body has the wrong structure',
    advice: 'Follow the structure that the detail describes.',
  },
  'Request.BadParameter': {
    status: 400,
    title: 'A query parameter is invalid',
    advice: 'Correct the parameter that the detail names.',
  },
  'Request.BadRequestId': {
    status: 400,
    title: 'The Request-Id cannot be used',
    advice: 'Use 1 to 128 visible ASCII characters that none of your running queries uses.',
  },
  'Request.BadCursor': {
    status: 400,
    title: 'The cursor does not belong to this request',
    advice: 'Repeat the request that returned the cursor, adding only `after`.',
  },
  'Request.BadPosition': {
    status: 400,
    title: 'The position is not one of a live statement',
    advice: 'Resume with a position that was sent, or without one.',
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
    title: 'No result format matches the Accept header',
    advice: 'Accept JSON, NDJSON, CSV or an Arrow stream.',
  },
  'Request.WritesRefused': {
    status: 422,
    title: 'The statement writes, and the request refuses writes',
    advice: 'Run it by itself, without `writes=refused`; a board shows statements that read.',
  },
  'Request.UnknownRequest': {
    status: 404,
    title: 'No running query has this Request-Id',
    advice: 'It may have finished already.',
  },
  'Request.IdempotencyMismatch': {
    status: 422,
    title: 'The Idempotency-Key was used with another body',
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
    advice: 'Request a token with the scope in `Scope`.',
  },
  'Data.UnknownTable': {
    status: 404,
    title: 'There is no such table',
    advice: 'The table cataloguetables lists the tables that you may read.',
  },
  'Data.BadValue': {
    status: 422,
    title: 'A value does not fit its type',
    advice: 'Correct the value that the detail names.',
  },
  'Data.UniqueViolation': {
    status: 409,
    title: 'A row with this key already exists',
    advice: 'Change the key, or use ON CONFLICT.',
  },
  'Data.TableExists': { status: 409, title: 'The name is taken', advice: 'Choose another name.' },
  'Data.ReservedName': {
    status: 400,
    title: 'The name is reserved for the service',
    advice: 'Choose a name that does not begin with _gh_ or sqlite_.',
  },
  'Data.Conflict': { status: 409, title: 'The change conflicts with another', advice: 'Try again.' },
  'Data.InUse': {
    status: 409,
    title: 'A view uses it',
    advice: 'Drop the views in `Views`, or replace them so that they no longer use it.',
  },
  'Data.ReadOnly': {
    status: 403,
    title: 'The table cannot be written',
    advice: 'System tables other than CatalogueTable are read-only.',
  },
  'Data.WritesStopped': {
    status: 503,
    title: 'Writes are not possible',
    advice: 'The disk under the database failed: an operator must repair it and restart the server.',
  },
  'Data.Unavailable': {
    status: 503,
    title: 'The database is not available',
    advice: 'Try again after the seconds in Retry-After.',
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
  'Criteria.BadNull': {
    status: 400,
    title: 'The operator cannot compare with null',
    advice: 'Use `is null` or `is not null`.',
  },
  'Saved.NotFound': {
    status: 404,
    title: 'There is no such saved document',
    advice: '`GET /saved` lists the queries and boards that you may read.',
  },
  'Saved.Invalid': {
    status: 422,
    title: 'The saved document is invalid',
    advice: 'Correct the faults listed in `Faults`; see [console documents](console-documents.md).',
  },
  'Saved.NotOwner': {
    status: 403,
    title: 'The saved document belongs to somebody else',
    advice: 'Save a copy of your own, or ask the owner or an administrator.',
  },
  'Saved.Changed': {
    status: 412,
    title: 'The saved document was changed in the meantime',
    advice: 'Read it again and repeat the change with the new `ETag`.',
  },
  'Saved.MatchRequired': {
    status: 428,
    title: 'If-Match is required',
    advice: 'Send `If-Match` with the `ETag` that you have read, or `*`.',
  },
  'Saved.TooMany': {
    status: 409,
    title: 'The owner has too many saved documents',
    advice: 'Delete some that are no longer needed.',
  },
  'Limit.Time': {
    status: 408,
    title: 'The time limit was reached',
    advice:
      'Request less data, or raise the setting that the detail names: `query_seconds`, or `query_export_seconds` for results in CSV, NDJSON and Arrow.',
  },
  'Limit.WriteTime': {
    status: 408,
    title: 'A long write was stopped because others waited',
    advice: 'Split the write into smaller ones, repeat it at a quieter time, or raise query_write_wait.',
  },
  'Limit.Cancelled': {
    status: 499,
    title: 'The query was cancelled',
    advice: 'You or an administrator cancelled it.',
  },
  'Limit.Concurrency': {
    status: 429,
    title: 'Too many queries at once',
    advice: 'Wait until one of your queries has finished.',
  },
  'Limit.Live': {
    status: 429,
    title: 'Too many live statements',
    advice: 'End one of your live statements, or raise the limit in the settings.',
  },
  'Limit.Tables': {
    status: 422,
    title: 'There are too many tables',
    advice: 'Drop tables that are not needed, or use PostgreSQL, which has no such limit.',
  },
  'Limit.Rows': {
    status: 422,
    title: 'The result has too many rows to be live',
    advice: 'Narrow the statement, or raise the limit in the settings.',
  },
  'Limit.Complexity': {
    status: 400,
    title: 'The statement is too large for the database',
    advice: 'Split the statement.',
  },
  'Limit.Bytes': {
    status: 422,
    title: 'The result is too large for its format',
    advice: 'Request pages with `limit`, or NDJSON, which reports where it was cut.',
  },
  'Limit.Memory': { status: 422, title: 'The query needs too much memory', advice: 'Request less data at once.' },
  'Limit.Disk': {
    status: 422,
    title: 'The query needs too much disk space',
    advice:
      'Sort, group or join less data, or shorter texts, at once; run fewer such queries at a time; or raise the setting that the detail names: `query_temp_bytes`, or `query_temp_bytes_per_user`.',
  },
  'Limit.Value': {
    status: 422,
    title: 'A text is too long',
    advice:
      'Create a shorter text, or fewer texts in one statement: together they have at most 16 MiB for each row, and a row of a result 32 MiB. The texts of a key, or of an entry of an index, have at most 2,500 bytes together. Search for a shorter text, or in a part of the text: the bytes of both, multiplied, are at most 2^30.',
  },
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
