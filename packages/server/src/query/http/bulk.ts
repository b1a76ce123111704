/** Insert with a body in a bulk format: the body is not kept in memory, and the reply has no rows. */

import { readDelimiter } from 'gatehouse-csv'
import { typeName } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { abortable } from '../../lib/abortable.ts'
import { type BulkEnv, type BulkOutcome, runBulk } from '../bulk/bulk.ts'
import type { CheckedColumn } from '../bulk/check-batch.ts'
import { CSV } from '../bulk/csv.ts'
import type { BulkFormat } from '../bulk/formats.ts'
import { columnIn, findZone, type Zone } from '../bulk/zone.ts'
import type { Duplicates } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import type { RunningQuery } from '../run/running.ts'
import { bulkKind } from './bulk-type.ts'
import { idempotencyKeyReader, readWord } from './request.ts'
import { describeWork, type ServeEnv } from './serve.ts'

export interface BulkEndpointEnv extends ServeEnv, BulkEnv {}

/** POST /Query/{table}/Insert with rows in bulk. */
export async function bulk(context: Context, env: BulkEndpointEnv): Promise<void> {
  const format = readFormat(context)
  const length = Number(context.headers['content-length'] ?? 0)
  if (length > env.spools.importBytes)
    throw refuse(
      'Request.TooLarge',
      `The body has more than ${env.spools.importBytes} bytes, the setting query_import_bytes`,
      {
        headers: { connection: 'close' },
      },
    )
  refuseCoding(context)
  const duplicates = readDuplicates(context)
  const started = performance.now()
  const work = describeWork(context, env, context.path)
  try {
    const outcome = await runBulk(
      {
        ...work,
        address: context.address,
        table: context.param('table'),
        columns: namesIn(context.query.get('columns')),
        format,
        source: (running) => readBody(context, running),
        duplicates,
        fillsDefaults: readWord(context.query, 'nulls', ['keep', 'default']) === 'keep' ? 'required' : 'always',
        isDryRun: readWord(context.query, 'dryrun', ['false', 'true']) === 'true',
        idempotencyKey: idempotencyKeyReader(context, env.clock, duplicates),
        recheck: async (): Promise<Principal> => {
          await context.authenticateAgain?.()
          return context.principal
        },
      },
      env,
    )
    context.json(buildReply(outcome, context.id, Math.round(performance.now() - started)))
  } catch (error) {
    // The client reads the reply once it has sent the rest, which is not read.
    context.request.resume()
    throw error
  }
}

function buildReply({ rowsAffected, duplicates, columns }: BulkOutcome, requestId: string, elapsedMs: number): object {
  const counts =
    duplicates === undefined
      ? {}
      : { Skipped: duplicates.skipped, Replaced: duplicates.replaced, SkippedRows: duplicates.skippedRows }
  return {
    Rows: [],
    Columns: Object.fromEntries((columns ?? []).map(describe)),
    RowCount: 0,
    RowsAffected: rowsAffected,
    ...counts,
    RequestId: requestId,
    ElapsedMs: elapsedMs,
  }
}

/** As in the result of a SELECT. */
function describe({ name, type, isRequired }: CheckedColumn, ordinal: number): [string, object] {
  return [name, { Ordinal: ordinal, Type: typeName(type), Nullable: !isRequired }]
}

/** The longest pause of a sender. */
const STALL_MS = 60_000

/** The bytes of the body. A sender that stops is not waited for. */
async function* readBody(
  { request, response, headers }: Context,
  running: RunningQuery,
): AsyncGenerator<Uint8Array, void, void> {
  if (headers.expect !== undefined && request.httpVersionMinor > 0) response.writeContinue()
  const timer = setTimeout(
    () => running.stop(refuse('Limit.Time', `The body paused for ${STALL_MS / 1000} s`)),
    STALL_MS,
  )
  const { signal } = running
  request.on('error', () => {})
  const parts = request.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const { value, done } = await abortable(parts.next(), signal)
      if (done) return
      timer.refresh()
      yield value
    }
  } finally {
    clearTimeout(timer)
  }
}

function refuseCoding({ headers }: Context): void {
  const coding = headers['content-encoding']
  if (coding !== undefined && coding !== 'identity')
    throw refuse('Request.Unsupported', `The content coding ${coding} is not supported: send the body as it is`)
}

function readDuplicates({ query }: Context): Duplicates {
  const given = query.get('duplicates') ?? 'reject'
  if (given === 'reject' || given === 'skip' || given === 'replace') return given
  throw refuse('Request.BadParameter', 'The query parameter duplicates must be reject, skip or replace', {
    members: { Expected: ['reject', 'skip', 'replace'] },
  })
}

function namesIn(list: string | readonly string[] | undefined): readonly string[] | undefined {
  return list === undefined
    ? undefined
    : [list]
        .flat()
        .flatMap((names) => names.split(','))
        .map((name) => name.trim())
}

function readFormat(context: Context): BulkFormat {
  const kind = bulkKind(context)
  if (kind === undefined) throw new Error('A bulk insert without a format')
  const zone = readZone(context)
  return kind === 'csv' ? csvFormat(context, zone) : { kind, zone }
}

function readZone({ query }: Context): Zone | undefined {
  const name = query.get('timezone')
  if (name === undefined) return undefined
  const zone = findZone(String(name))
  if (zone !== undefined) return zone
  throw refuse('Request.BadParameter', `The query parameter timezone names no time zone: ${JSON.stringify(name)}`, {
    members: { Expected: ['America/New_York', 'Europe/Berlin', 'UTC'] },
  })
}

/** RFC 7111 and RFC 4180 §3: a header unless the type says that there is none. */
function csvFormat({ headers, query }: Context, zone: Zone | undefined): BulkFormat {
  const type = (headers['content-type'] ?? '').toLowerCase()
  const charset = /charset="?([^;"\s]+)/.exec(type)?.[1]
  if (charset !== undefined && !['utf-8', 'utf8', 'us-ascii'].includes(charset))
    throw refuse('Request.Unsupported', `The charset ${JSON.stringify(charset)} is not supported`, {
      members: { Expected: ['utf-8'] },
    })
  const delimiter = readDelimiter(String(query.get('delimiter') ?? ','))
  if (delimiter === undefined)
    throw refuse('Request.BadParameter', 'The query parameter delimiter must be comma, semicolon, tab or bar', {
      members: { Expected: ['comma', 'semicolon', 'tab', 'bar'] },
    })
  const nulls = [query.get('null') ?? []]
  const hasHeader = !/header="?absent/.test(type)
  return {
    kind: 'csv',
    options: { ...CSV, delimiter, hasHeader, nulls: ['', ...nulls.flat()], chooseColumn: columnIn(zone) },
  }
}
