/** The PostgreSQL engine: a pool whose connections have no right beyond the query data, cursors, and cancel. */
import { createHash } from 'node:crypto'
import pg, { type Pool, type PoolClient } from 'pg'
import { isShort } from '../../cost.ts'
import { refuse } from '../../errors.ts'
import { writeTimestamp } from '../../iql/time-values.ts'
import type { Cell } from '../../result/encoding.ts'
import { createEncoder } from '../../result/encoding.ts'
import type {
  Bindable,
  ChangeRequest,
  Engine,
  Once,
  ReadOutcome,
  ReadRequest,
  WriteOutcome,
  WriteReply,
  WriteRequest,
} from '../engine.ts'
import { mismatch, readOutcome, writeOutcome } from '../requests.ts'
import { iqlError } from '../runtime-error.ts'
import { createAuditCopy } from './audit-copy.ts'
import { applyChange, prepareSchema, readCatalogue } from './define.ts'
import { POSTGRES } from './dialect.ts'
import { asRefusal, isOutdated, isTransient } from './failure.ts'
import { cancelRunning, Portal } from './portal.ts'
import { cellReader, SCHEMA, toPostgres } from './representation.ts'
import { prepareRole } from './role.ts'

export interface PostgresOptions {
  readonly url: string
  readonly connections: number
  readonly waitingQueries: number
  /** The database ends a statement on its own a little after this, should the server be unable to. */
  readonly milliseconds: number
}

const BATCH_ROWS = 500
const CHUNK_BYTES = 64 * 1024
const ATTEMPTS = 5
const SHORT_CONNECTIONS = 4

export async function openPostgresEngine(options: PostgresOptions): Promise<Engine> {
  const owner = createPool(options, 2, '')
  let role: string
  try {
    role = await withClient(owner, async (client) => {
      await prepareSchema(client)
      return prepareRole(client)
    })
  } catch (error) {
    await owner.end()
    throw error
  }
  const queries = createPool(options, options.connections, role)
  // Lookups and short writes have connections of their own, so that long queries cannot hold them up.
  const lookups = createPool(options, SHORT_CONNECTIONS, role)
  const take =
    (pool: Pool): Take =>
    (signal) => {
      if (pool.waitingCount >= options.waitingQueries) {
        throw refuse('Limit.Overload', 'Too many queries are waiting', { headers: { 'Retry-After': '1' } })
      }
      return connectUnless(pool, signal)
    }
  return {
    kind: 'postgres',
    dialect: POSTGRES,
    finish: (slots, marked) => slots.numbered(marked),
    bind: toPostgres,
    read: (request) => read(take(isShort(request.reach) ? lookups : queries), request),
    write: (request) => write(take(request.isShort ? lookups : queries), request),
    loadCatalogue: () => withClient(owner, readCatalogue),
    change: (request) => change(owner, request),
    recall: (once) => withClient(owner, (client) => recall(client, once)),
    forgetRequests: async (before) => {
      await owner.query(`DELETE FROM ${SCHEMA}._gh_requests WHERE created < $1::timestamp`, [
        writeTimestamp(before).slice(0, -1),
      ])
    },
    auditCopy: createAuditCopy(owner),
    get load() {
      const total = queries.totalCount + lookups.totalCount
      return { busy: total - queries.idleCount - lookups.idleCount, total }
    },
    check: async () => void (await withClient(owner, readCatalogue)),
    async close() {
      await Promise.all([queries.end(), lookups.end()])
      await owner.end()
    },
  }
}

function createPool(options: PostgresOptions, max: number, role: string): Pool {
  const settings = [
    `search_path=${SCHEMA}`,
    'TimeZone=UTC',
    'DateStyle=ISO',
    'IntervalStyle=postgres',
    'bytea_output=hex',
    'extra_float_digits=1',
    'standard_conforming_strings=on',
    ...(role === '' ? [] : [`role=${role}`, `statement_timeout=${options.milliseconds + 2000}`]),
  ]
  const pool = new pg.Pool({
    connectionString: options.url,
    max,
    options: settings.map((setting) => `-c ${setting}`).join(' '),
    connectionTimeoutMillis: options.milliseconds,
    idleTimeoutMillis: 60_000,
    application_name: 'gatehouse query',
  })
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on('error', () => {})
  return pool
}

type Take = (signal: AbortSignal) => Promise<PoolClient>

/** A query that is stopped while it waits leaves at once; the connection that it would have had goes back. */
function connectUnless(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    pool.connect().then((client) => {
      signal.removeEventListener('abort', leave)
      if (signal.aborted) client.release()
      else resolve(client)
    }, reject)
  })
}

async function withClient<T>(pool: Pool, task: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    return await task(client)
  } finally {
    client.release()
  }
}

async function* read(take: Take, request: ReadRequest): AsyncGenerator<Uint8Array, ReadOutcome, void> {
  const { signal, limits } = request
  signal.throwIfAborted()
  const client = await take(request.signal)
  let portal: Portal | undefined
  const stop = (): void => cancelRunning(client)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const encoder = await createEncoder(request.encoding, request.columns)
    const readers = [...request.columns, ...request.keyColumns].map(cellReader)
    const begun = await beginRead(client, request)
    portal = begun.portal
    let { skip } = limits
    let rowCount = 0
    let written = 0
    let truncated: ReadOutcome['truncated'] = 'no'
    let last: readonly Cell[] = []
    for (let batch = begun.first; ; batch = await portal.next()) {
      signal.throwIfAborted()
      for (const raw of batch.rows) {
        if (skip > 0) {
          skip--
          continue
        }
        if (rowCount >= limits.rows) truncated = 'rows'
        else if (written + encoder.pending >= limits.bytes) truncated = 'bytes'
        if (truncated !== 'no') break
        last = readers.map((readCell, index) => readCell(raw[index] ?? null))
        encoder.add(last)
        rowCount++
      }
      if (batch.isLast || truncated !== 'no') break
      if (encoder.pending >= CHUNK_BYTES) {
        const chunk = encoder.take()
        written += chunk.byteLength
        yield chunk
      }
    }
    yield encoder.take()
    return { rowCount, truncated, lastKey: last.slice(request.columns.length) }
  } catch (error) {
    throw signal.aborted ? signal.reason : (asRefusal(error) ?? error)
  } finally {
    signal.removeEventListener('abort', stop)
    await portal?.abandon()
    client.release()
  }
}

/** A statement that was prepared before its table became another one is prepared anew, which only its first rows can tell. */
async function beginRead(client: PoolClient, request: ReadRequest, isAgain = false) {
  const { sql, parameters, limits, reach } = request
  const batchSize = isShort(reach) ? 'all' : Math.min(BATCH_ROWS, limits.rows + 1)
  const portal = new Portal(sql, statementName(sql), parameters, batchSize)
  client.query(portal)
  try {
    return { portal, first: await portal.next() }
  } catch (error) {
    await portal.abandon()
    if (isAgain || !isOutdated(error)) throw error
    return beginRead(client, request, true)
  }
}

async function write(take: Take, request: WriteRequest): Promise<WriteReply> {
  const { signal } = request.running
  const isAlone = isOneStatement(request)
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    const client = await take(signal)
    const stop = (): void => cancelRunning(client)
    signal.addEventListener('abort', stop, { once: true })
    let isBroken = false
    try {
      if (isAlone) return await runOnce(client, request)
      await client.query('BEGIN')
      const reply = await runOnce(client, request)
      await client.query('COMMIT')
      return reply
    } catch (error) {
      if (!isAlone)
        await client.query('ROLLBACK').catch(() => {
          isBroken = true
        })
      if ((isTransient(error) || isOutdated(error)) && attempt < ATTEMPTS && !signal.aborted) continue
      throw signal.aborted ? signal.reason : (asRefusal(error) ?? error)
    } finally {
      signal.removeEventListener('abort', stop)
      client.release(isBroken)
    }
  }
}

/** Nothing to undo but itself: the server makes it whole or not at all, and durable before it is ready for another. */
function isOneStatement({ steps, once, isChecked }: WriteRequest): boolean {
  return once === undefined && !isChecked && steps.length === 1 && steps[0]?.parameterSets.length === 1
}

async function runOnce(client: PoolClient, request: WriteRequest): Promise<WriteReply> {
  const { once } = request
  if (once === undefined) return { outcome: await execute(client, request), isRepeated: false }
  return remembering(client, once, () => execute(client, request))
}

/** What happened when the key was first used, or what happens now. */
async function remembering(client: PoolClient, once: Once, act: () => Promise<WriteOutcome>): Promise<WriteReply> {
  if (!(await claimKey(client, once))) {
    const known = await recall(client, once)
    if (known === undefined) throw new Error('A key that is taken but not known')
    return { outcome: known, isRepeated: true }
  }
  const outcome = await act()
  await client.query(`UPDATE ${SCHEMA}._gh_requests SET answer = $3 WHERE owner = $1 AND key = $2`, [
    once.owner,
    once.key,
    writeOutcome(outcome),
  ])
  return { outcome, isRepeated: false }
}

/** Inserting first makes a second request with the same key wait for the first to end. */
async function claimKey(client: PoolClient, once: Once): Promise<boolean> {
  const { rowCount } = await client.query(
    `INSERT INTO ${SCHEMA}._gh_requests (owner, key, fingerprint, answer, created) VALUES ($1, $2, $3, '', $4::timestamp) ON CONFLICT DO NOTHING`,
    [once.owner, once.key, once.fingerprint, writeTimestamp(once.now).slice(0, -1)],
  )
  return rowCount === 1
}

async function recall(client: PoolClient, once: Once): Promise<WriteOutcome | undefined> {
  const { rows } = await client.query<{ fingerprint: string; answer: string }>(
    `SELECT fingerprint, answer FROM ${SCHEMA}._gh_requests WHERE owner = $1 AND key = $2`,
    [once.owner, once.key],
  )
  const known = rows[0]
  if (known === undefined) return undefined
  if (known.fingerprint !== once.fingerprint) throw mismatch(once)
  return readOutcome(known.answer)
}

async function execute(client: PoolClient, request: WriteRequest): Promise<WriteOutcome> {
  const readers = request.returning.map(cellReader)
  const givesRows = request.isChecked || readers.length > 0
  const rows: Cell[][] = []
  let rowsAffected = 0
  let isTruncated = false
  for (const { sql, parameters } of runsOf(request)) {
    const portal = new Portal(sql, statementName(sql), parameters, givesRows ? BATCH_ROWS : 'all')
    client.query(portal)
    try {
      for (let isLast = false; !isLast; ) {
        const batch = await portal.next()
        isLast = batch.isLast
        for (const raw of batch.rows) {
          if (request.isChecked && raw[readers.length] !== 't') {
            throw iqlError('RowFilter', 'A row would be written that its writer may not read')
          }
          if (rows.length < request.rowLimit) rows.push(readers.map((readCell, index) => readCell(raw[index] ?? null)))
          else isTruncated = readers.length > 0
        }
      }
    } finally {
      await portal.abandon()
    }
    // Where the statement stands alone it is committed after its last row, and that can fail.
    portal.throwIfFailed()
    rowsAffected += portal.rowsAffected
  }
  return { rowsAffected, rows: readers.length === 0 ? [] : rows, isTruncated }
}

function* runsOf({ steps }: WriteRequest): Generator<{ sql: string; parameters: readonly Bindable[] }> {
  for (const { sql, parameterSets } of steps) for (const parameters of parameterSets) yield { sql, parameters }
}

async function change(pool: Pool, request: ChangeRequest): Promise<WriteReply | undefined> {
  const { signal } = request
  return withClient(pool, async (client) => {
    const stop = (): void => cancelRunning(client)
    signal?.throwIfAborted()
    signal?.addEventListener('abort', stop, { once: true })
    await client.query('BEGIN')
    try {
      const reply = await applyAll(client, request)
      await client.query('COMMIT')
      return reply
    } catch (error) {
      await client.query('ROLLBACK')
      throw signal?.aborted ? signal.reason : (asRefusal(error) ?? error)
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  })
}

async function applyAll(client: PoolClient, { changes, record }: ChangeRequest): Promise<WriteReply | undefined> {
  const apply = async (): Promise<void> => {
    for (const { change: step, fill } of changes) await applyChange(client, step, fill)
  }
  if (record === undefined) {
    await apply()
    return undefined
  }
  return remembering(client, record.once, async () => {
    await apply()
    return record.outcome
  })
}

/** Equal texts are parsed and planned once on each connection. */
function statementName(sql: string): string {
  return `gh_${createHash('sha256').update(sql).digest('base64url').slice(0, 24)}`
}
