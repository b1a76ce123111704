/** The error codes of the query service. The documentation is generated from this table. */
import { Refusal, type RefusalDetails } from 'gatehouse-protocol'

interface ErrorEntry {
  readonly status: number
  /** PostgreSQL's code, for its clients. */
  readonly sqlstate: string
  readonly title: string
  /** What the caller can do about it, for the documentation. */
  readonly advice: string
  /** `Retry-After`, where the same request may succeed later. */
  readonly retrySeconds?: number
}

export const QUERY_ERRORS = {
  'Request.BadJson': entry(400, '22P02', 'The body is not JSON', 'Send valid JSON in UTF-8.'),
  'Request.BadBody': entry(
    400,
    '22023',
    'The body has the wrong structure',
    'Follow the structure that the detail describes.',
  ),
  'Request.BadParameter': entry(
    400,
    '22023',
    'A query parameter is invalid',
    'Correct the parameter that the message names.',
  ),
  'Request.BadRequestId': entry(
    400,
    '22023',
    'The Request-Id cannot be used',
    'Use 1 to 128 visible ASCII characters that none of your running queries uses.',
  ),
  'Request.BadCursor': entry(
    400,
    '22023',
    'The cursor does not belong to this request',
    'Repeat the request that returned the cursor, adding only `after`.',
  ),
  'Request.BadPosition': entry(
    400,
    '22023',
    'The position does not belong to a live statement',
    'Resume with a position from the server, or without one.',
  ),
  'Request.TooLarge': entry(
    413,
    '54000',
    'The request is too large',
    'Send less at once, or raise the limit in the settings.',
  ),
  'Request.Unsupported': entry(
    415,
    '0A000',
    'The content type is not supported',
    'Send text/plain in UTF-8 or application/json; an Insert also takes CSV, NDJSON, Arrow and Parquet.',
  ),
  'Request.NotAcceptable': entry(
    406,
    '0A000',
    'No result format matches the Accept header',
    'Accept JSON, NDJSON, CSV, an Arrow stream or Parquet.',
  ),
  'Request.WritesRefused': entry(
    422,
    '25006',
    'The statement writes, and the request refuses writes',
    'Run it on its own, without `writes=refused`; boards show only statements that read.',
  ),
  'Request.UnknownRequest': entry(
    404,
    '22023',
    'No running query has this Request-Id',
    'It may have finished already.',
  ),
  'Request.IdempotencyMismatch': entry(
    422,
    '22023',
    'The Idempotency-Key was used with another body',
    'Use a new key for a new request.',
  ),
  'Auth.Required': entry(
    401,
    '28000',
    'An access token is required',
    'Send `Authorization: Bearer` with a token for the platform.',
  ),
  'Auth.InvalidToken': entry(
    401,
    '28000',
    'The access token is not valid',
    'It is expired or revoked, or for another server. Refresh it, or get a new one with `gatehouse token`.',
  ),
  'Auth.InvalidProof': entry(
    401,
    '28000',
    'The DPoP proof is missing or invalid',
    'Send a new proof in the `DPoP` header, for this method, address and token.',
  ),
  'Auth.NonceNeeded': entry(
    401,
    '28000',
    'The DPoP proof needs a nonce',
    'Repeat the request with a proof that has the nonce of the header `DPoP-Nonce`.',
  ),
  'Auth.MissingScope': entry(
    403,
    '42501',
    'The access token lacks a scope',
    'Request a token with the scope in `Scope`.',
  ),
  'Data.UnknownTable': entry(
    404,
    '42P01',
    'There is no such table',
    'The table cataloguetables lists the tables that you may read.',
  ),
  'Data.BadValue': entry(422, '22P02', 'A value does not fit its type', 'Correct the value that the message names.'),
  'Data.BadBinary': entry(
    422,
    '22P03',
    'A value is not in the binary format of its type',
    "Send the value as PostgreSQL's binary format of the type has it.",
  ),
  'Data.UniqueViolation': entry(
    409,
    '23505',
    'A row with this key already exists',
    'Change the key, or use ON CONFLICT; bulk inserts have `duplicates=skip` and `duplicates=replace`.',
  ),
  'Data.CheckViolation': entry(
    409,
    '23514',
    'A row does not meet a check of its table',
    'Change the values so that the condition that the message names is not false. GET /catalogue/tables/{table} lists the checks.',
  ),
  'Data.TooOld': entry(
    409,
    '23514',
    'A row is older than the retention of its table',
    'Rows before `Horizon` are closed. Leave them out, or ask for a longer [retention](retention.md).',
  ),
  'Data.Held': entry(
    409,
    '55000',
    'The table is held',
    'Nothing is deleted while `hold = on`: see [retention](retention.md#legal-hold).',
  ),
  'Data.RetentionStopped': entry(
    409,
    '55000',
    'Retention stands still',
    'The detail says why. If it is the clock, retention goes on when those of the node and of the database agree again.',
  ),
  'Data.TableExists': entry(409, '42P07', 'The name is taken', 'Choose another name.'),
  'Data.ReservedName': entry(
    400,
    '42939',
    'The name is reserved for the service',
    'Choose a name that does not begin with _gh_ or sqlite_.',
  ),
  'Data.Conflict': entry(409, '40001', 'The change conflicts with another', 'Try again.'),
  'Data.NotColumnar': entry(
    422,
    '0A000',
    'The table cannot have columns = on',
    'Column segments need the embedded engine, and a table with a row number.',
  ),
  'Data.InUse': entry(
    409,
    '2BP01',
    'A view or product uses it',
    'Drop the views in `Views`, or replace them so that they no longer use it; let the `Products` cover the table otherwise.',
  ),
  'Data.Building': entry(
    409,
    '55000',
    'The materialized view is being built',
    'Try again after the seconds in Retry-After; `Progress` says how much of it is there, from 0 to 1.',
    1,
  ),
  'Data.ViewFailed': entry(
    409,
    '55000',
    'The query of the materialized view fails',
    'Correct the rows at which it fails, as `Cause` says: the view goes on with the commit that does so.',
  ),
  'Data.ReadOnly': entry(
    403,
    '42501',
    'The table cannot be written',
    'System tables other than CatalogueTable, and materialized views, are read-only.',
  ),
  'Data.WritesStopped': entry(
    503,
    '57P03',
    'Writes are not possible',
    'The disk under the database failed: an operator must repair it and restart the server.',
  ),
  'Data.LostWrites': entry(
    503,
    '57P03',
    'Writes are stopped after a failover',
    'The database lacks writes that were acknowledged: an operator must find out which, and [accept the loss](high-availability.md#when-writes-are-stopped) or bring back the server that has them. Reads continue.',
  ),
  'Data.Unavailable': entry(
    503,
    '57P03',
    'The database is not available',
    'Try again after the seconds in Retry-After.',
    5,
  ),
  'Criteria.UnknownOperator': entry(400, '42883', 'The operator is unknown', 'Use one of the operators in `Expected`.'),
  'Criteria.UnknownColumn': entry(400, '42703', 'The column is unknown', 'Use one of the columns in `Expected`.'),
  'Criteria.BadNull': entry(400, '22004', 'The operator cannot compare with null', 'Use `is null` or `is not null`.'),
  'Saved.NotFound': entry(
    404,
    '42704',
    'There is no such saved document',
    '`GET /saved` lists the queries and boards that you may read.',
  ),
  'Saved.Invalid': entry(
    422,
    '22023',
    'The saved document is invalid',
    'Correct the faults listed in `Faults`; see [console documents](console-documents.md).',
  ),
  'Saved.NotOwner': entry(
    403,
    '42501',
    'The saved document belongs to another user',
    'Save your own copy, or ask the owner or an administrator.',
  ),
  'Saved.Changed': entry(
    412,
    '40001',
    'The saved document was changed in the meantime',
    'Read it again and repeat the change with the new `ETag`.',
  ),
  'Saved.MatchRequired': entry(
    428,
    '22023',
    'If-Match is required',
    'Send `If-Match` with the `ETag` that you have read, or `*`.',
  ),
  'Saved.TooMany': entry(
    409,
    '54000',
    'The owner has too many saved documents',
    'Delete some that are no longer needed.',
  ),
  'Alert.NotFound': entry(
    404,
    '42704',
    'There is no such alert',
    '`GET /alerts` lists your alerts. One that was written with rights that your token lacks is not shown.',
  ),
  'Alert.Invalid': entry(
    422,
    '22023',
    'The alert is invalid',
    'Correct the faults listed in `Faults`; see [alerts](alerts.md).',
  ),
  'Alert.NotAllowed': entry(
    403,
    '42501',
    'The statement cannot run without its owner',
    'Leave out tables that demand a recent sign-in or two factors.',
  ),
  'Alert.TooMany': entry(409, '54000', 'There are too many alerts', 'Delete some that are no longer needed.'),
  'Alert.Changed': entry(
    412,
    '40001',
    'The alert was changed in the meantime',
    'Read it again and repeat the change with the new `ETag`.',
  ),
  'Alert.MatchRequired': entry(
    428,
    '22023',
    'If-Match is required',
    'Send `If-Match` with the `ETag` that you have read, or `*`.',
  ),
  'Limit.Time': entry(
    408,
    '57014',
    'The time limit was reached',
    'Request less data, add an index to the tables that `detail` says are read whole, or raise the setting that it names: `query_seconds`, or `query_export_seconds` for results in CSV, NDJSON, Arrow and Parquet.',
  ),
  'Limit.WriteTime': entry(
    408,
    '57014',
    'A long write was stopped because other writes were waiting',
    'Nothing was written. Split it into smaller writes, each in a request of its own, or repeat it at a quieter time. Bulk inserts and CREATE TABLE AS are stopped too. An operator can raise `query_write_wait`; 0 turns this off.',
    5,
  ),
  'Limit.Cancelled': entry(499, '57014', 'The query was cancelled', 'You or an administrator cancelled it.'),
  'Limit.Concurrency': entry(
    429,
    '53300',
    'Too many queries at once',
    'Wait until one of your queries has finished.',
    1,
  ),
  'Limit.Live': entry(
    429,
    '53000',
    'Too many live statements',
    'End one of your live statements, or raise the limit in the settings.',
  ),
  'Limit.Tables': entry(
    422,
    '54000',
    'There are too many tables',
    'Drop tables that are not needed, or use PostgreSQL, which has no such limit.',
  ),
  'Limit.Rows': entry(
    422,
    '54000',
    'The result has too many rows to be live',
    'Narrow the statement, or raise the limit in the settings.',
  ),
  'Limit.Complexity': entry(400, '54001', 'The statement is too large for the database', 'Split the statement.'),
  'Limit.Bytes': entry(
    422,
    '54000',
    'The result is too large for its format',
    'Request pages with `limit`, or request NDJSON, which reports where the result was cut off.',
  ),
  'Limit.Memory': entry(422, '53200', 'The query needs too much memory', 'Request less data at once.'),
  'Limit.Disk': entry(
    422,
    '53100',
    'The query needs too much disk space',
    'Sort, group or join less data or shorter texts at once, run fewer such queries at the same time, or raise the setting that the message names: `query_temp_bytes`, or `query_temp_bytes_per_user`.',
  ),
  'Limit.Value': entry(
    422,
    '54000',
    'A text is too long',
    'Create a shorter text, or fewer texts in one statement: all texts created for a row have at most 16 MiB, and a row of a result has at most 32 MiB. The texts of a key, or of an entry of an index, have at most 2,500 bytes together. Search for a shorter text, or in a part of the text: the product of their lengths in bytes is at most 2^30.',
  ),
  'Limit.Overload': entry(503, '53000', 'The service is busy', 'Try again after the seconds in Retry-After.', 1),
} as const satisfies Record<string, ErrorEntry>

function entry(status: number, sqlstate: string, title: string, advice: string, retrySeconds?: number): ErrorEntry {
  return { status, sqlstate, title, advice, ...(retrySeconds === undefined ? {} : { retrySeconds }) }
}

export type QueryErrorCode = keyof typeof QUERY_ERRORS

/** Without a hint of its own, an error about data or a token has the advice of the table as its hint. */
export function refuse(code: QueryErrorCode, detail: string, details: RefusalDetails = {}): Refusal {
  const { status, retrySeconds, advice }: ErrorEntry = QUERY_ERRORS[code]
  const headers = retrySeconds === undefined ? {} : { headers: { 'retry-after': String(retrySeconds) } }
  const hint = code.startsWith('Data.') || code === 'Auth.InvalidToken' ? { Hint: withoutMarkdown(advice) } : {}
  return new Refusal(code, status, detail, { ...headers, ...details, members: { ...hint, ...details.members } })
}

/** Links and code as plain text. */
function withoutMarkdown(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}
