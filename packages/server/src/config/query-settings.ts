/** Settings of the query service, and of live queries. */
import { parseBoolean, parseInteger, parseSeconds } from './parsers.ts'
import { type Settings, setting } from './setting.ts'

export const QUERY_SETTINGS = {
  queryRows: setting(
    '100000',
    parseInteger,
    'Maximum rows of a JSON query result. A longer result is truncated and marked as truncated.',
  ),
  queryResultBytes: setting('1073741824', parseInteger, 'Maximum bytes of a query result in any format.'),
  queryStatementBytes: setting('65536', parseInteger, 'Maximum bytes of an IQL statement.'),
  queryBodyBytes: setting('8388608', parseInteger, 'Maximum bytes of the body of a Select, Insert, Update or Delete.'),
  queryImportBytes: setting(
    '1073741824',
    parseInteger,
    'Maximum bytes of the body of a bulk insert: an Insert in CSV, NDJSON, Arrow or Parquet. All bulk inserts of a user that are arriving take at most twice as much disk space.',
  ),
  querySeconds: setting(
    '30',
    parseSeconds,
    'Timeout of a query in seconds, from when it starts to run; for CSV, NDJSON, Arrow and Parquet, until the first rows are sent. A query that waits this long to start gets 503.',
  ),
  queryExportSeconds: setting(
    '600',
    parseSeconds,
    'Timeout in seconds of a result in CSV, NDJSON, Arrow or Parquet, from its first rows to its last.',
  ),
  queryPerUser: setting('32', parseInteger, 'Maximum concurrent queries of one user.'),
  queryConcurrency: setting(
    '4',
    parseInteger,
    'Maximum long queries executed at once: reader processes for SQLite, connections for PostgreSQL. A few more serve short queries. One user gets at most one fewer than this, and at most half of the connections while other users run queries.',
  ),
  queryWaiting: setting('256', parseInteger, 'Maximum queued queries; further ones get 503.'),
  queryStall: setting(
    '5',
    parseSeconds,
    'Seconds after which a result is aborted if its client does not read it and other queries are waiting; 0: never.',
  ),
  querySendQueueBytes: setting(
    '134217728',
    parseInteger,
    'Maximum bytes of HTTP replies queued for clients that do not read them, on this node. Above this, the connections of the user or address with the most queued bytes are closed.',
  ),
  queryWriteWait: setting(
    '5',
    parseSeconds,
    'On SQLite, seconds that a write waits for a long write of another user before the long write is stopped; 0: never.',
  ),
  queryTempBytes: setting(
    '1073741824',
    parseInteger,
    'Maximum bytes of the temporary files of one query: for sorts, groups and joins that do not fit into memory.',
  ),
  queryTempBytesPerUser: setting(
    '3221225472',
    parseInteger,
    'Maximum bytes of the temporary files of all running queries of one user. On PostgreSQL the limit is divided equally among the connections that a user can have.',
  ),
  queryColumns: setting(
    'true',
    parseBoolean,
    'On SQLite, write and read column segments of tables with columns = on. false: their statements read rows, as those of other tables.',
  ),
  queryColumnsBytes: setting(
    '0',
    parseInteger,
    'Maximum bytes of all column segments; 0: half of the size of the query database, but at least 1 GiB. Rows beyond it are read as rows.',
  ),
  queryColumnsPartsBytes: setting(
    '268435456',
    parseInteger,
    'Maximum bytes of the results of column segments that are kept in files, so that a statement that runs again reads only rows that are new or have changed; 0: none is kept.',
  ),
  liveStatementsPerConnection: setting('100', parseInteger, 'Maximum live statements of one connection.'),
  liveStatementsPerUser: setting('1000', parseInteger, 'Maximum live statements of one user on this node.'),
  liveStatements: setting('20000', parseInteger, 'Maximum live statements of this node.'),
  liveRows: setting('100000', parseInteger, 'Maximum rows of the result of a live statement.'),
  liveBytes: setting(
    '268435456',
    parseInteger,
    'Memory for the results of all live statements of this node. One user gets at most half of it. Results without subscribers are dropped first.',
  ),
  liveLogTime: setting(
    '600',
    parseSeconds,
    'Seconds that the changes of a table are kept so that live statements can resume.',
  ),
  liveLogChanges: setting('1000000', parseInteger, 'Maximum changes kept for each table.'),
} as const satisfies Settings
