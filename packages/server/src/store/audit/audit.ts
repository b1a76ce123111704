/** The writer of the audit log. Events are queued and written in batches: durable within a second, and before a shutdown. Repeated events are counted. */
import { type AuditEvent, type AuditValue, auditOutcome, type Clock } from 'gatehouse-protocol'
import type { Transaction } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'
import { extendChain, type UnchainedRow } from './chain.ts'
import { AuditRepeats } from './repeats.ts'

export type AuditLog = ReturnType<typeof openAuditLog>

export interface AuditOptions {
  readonly clock: Clock
  /** The process that writes the rows. */
  readonly node: string
  readonly onError: (error: unknown) => void
}

const FLUSH_AFTER_MS = 200
const RETRY_AFTER_MS = 1_000
/** How often it is checked which counts of repeated events are due. */
const COUNTS_EVERY_MS = 30_000
const ROWS_AT_ONCE = 1_000
/** Rows kept while the database is unavailable. Further rows are counted as lost and logged. */
const MOST_WAITING = 50_000
const LONGEST_TEXT = 512

export function openAuditLog(database: Pick<Database, 'db' | 'engine'>, { clock, node, onError }: AuditOptions) {
  const queue: UnchainedRow[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined
  let closed = false
  let lost = 0
  const repeats = new AuditRepeats()
  const counting = setInterval(() => enqueue(repeats.due(clock())), COUNTS_EVERY_MS).unref()

  return {
    record(event: AuditEvent): void {
      enqueue(repeats.take(event, toRow(event, clock(), node)))
    },
    /** Records events in a transaction, as its last step: until it ends, other writers of the log wait. `at` is when they happened. */
    append(tx: Transaction<Schema>, events: readonly AuditEvent[], at = clock()): Promise<void> {
      return extendChain({ db: tx, engine: database.engine }, async () => events.map((event) => toRow(event, at, node)))
    },
    /** Resolves when everything recorded so far is durable; counts are when their interval is over. */
    flush(): Promise<void> {
      enqueue(repeats.due(clock()))
      return writeAll()
    },
    /** Flushes, then discards further events. */
    async close(): Promise<void> {
      enqueue(repeats.all(clock()))
      closed = true
      clearInterval(counting)
      clearTimeout(timer)
      // An unavailable database does not block the shutdown; the loss is logged.
      await writeAll().catch(onError)
    },
    /** For metrics: rows not yet written, and rows lost because the database was unavailable for too long. */
    get waiting(): number {
      return queue.length
    },
    get lost(): number {
      return lost
    },
  }

  function enqueue(rows: readonly UnchainedRow[]): void {
    for (const row of rows) {
      if (closed || queue.length >= MOST_WAITING) {
        lost += 1
        if (lost === 1 || lost % 1_000 === 0) onError(new Error(`${lost} audit rows were lost`))
      } else queue.push(row)
    }
    if (queue.length >= ROWS_AT_ONCE) writeInBackground()
    else if (rows.length > 0) schedule(FLUSH_AFTER_MS)
  }

  function schedule(delay: number): void {
    if (timer !== undefined || writing !== undefined) return
    timer = setTimeout(writeInBackground, delay)
    timer.unref()
  }

  function writeInBackground(): void {
    if (writing !== undefined) return
    writeAll().catch((error) => {
      onError(error)
      schedule(RETRY_AFTER_MS)
    })
  }

  async function writeAll(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    while (writing !== undefined) await writing.catch(() => {})
    while (queue.length > 0) {
      writing ??= writeSome().finally(() => {
        writing = undefined
      })
      await writing
    }
  }

  async function writeSome(): Promise<void> {
    const rows = queue.slice(0, ROWS_AT_ONCE)
    await extendChain(database, async () => rows)
    // Rows leave the queue only when they are durable.
    queue.splice(0, rows.length)
  }
}

export function toRow(event: AuditEvent, at: number, node: string): UnchainedRow {
  return {
    at,
    event: event.event,
    outcome: auditOutcome(event.event),
    actor: textOrNull(event.actor),
    client: textOrNull(event.client),
    target: textOrNull(event.target),
    address: textOrNull(event.address),
    request_id: textOrNull(event.requestId),
    node,
    details: JSON.stringify(event.details ?? {}, (_name, value: AuditValue) =>
      typeof value === 'string' ? printable(value) : value,
    ),
  }
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : printable(text)
}

/** Truncated, and without characters that a database cannot store (NUL, lone surrogates). */
function printable(text: string): string {
  return text.slice(0, LONGEST_TEXT).replaceAll('\0', '').toWellFormed()
}
