/** COPY … FROM STDIN: rows on the path of bulk inserts. In a block they are checked and kept until COMMIT. */
import type { TableView } from 'gatehouse-iql'
import { type BulkFormat, bulkInsert, checkBulk, openReader } from '../../../query/codecs.ts'
import { findColumn, requireTable, viewFor } from '../../../query/index.ts'
import { commandComplete, copyInResponse } from '../../protocol/replies.ts'
import type { SessionCaller } from '../contract.ts'
import type { SessionEnv } from '../env.ts'
import { outcomeOf, WireError } from '../failure.ts'
import type { Replies } from '../replies.ts'
import type { Runner } from '../runner.ts'
import { AUTOCOMMIT, type Block, MAX_KEPT_BYTES } from '../transaction/block.ts'
import { type CopyCommand, type CopyOptions, unquoted } from './copy-command.ts'
import { keepAsInserts, sourceOf, spreadCopy } from './copy-inserts.ts'
import type { KeptCopy } from './kept-copy.ts'

/** The memory that a message takes besides its bytes: they may have one byte each. */
const PART_BYTES = 128
/** The sender waits while more than these bytes are not read. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

export interface CopyInEnv {
  readonly env: SessionEnv
  readonly caller: SessionCaller
  readonly replies: Replies
  readonly runner: Runner
  readonly block: Block
  /** Called when a COPY fails, so that the client gets the error at once, even if it sends no more rows. */
  readonly onFailed: (error: unknown) => void
}

/** One COPY FROM, from CopyInResponse to its end. */
export class CopyIn {
  readonly #env: CopyInEnv
  readonly #table: TableView
  readonly #columns: readonly string[]
  readonly #format: BulkFormat
  readonly #source = new CopySource()
  /** Of a block. */
  readonly #kept: Uint8Array[] | undefined
  #keptBytes = 0
  readonly #inserted: Promise<number> | undefined
  #failure: { readonly error: unknown } | undefined
  /** All rows have arrived. */
  #isWhole = false

  constructor(command: CopyCommand, env: CopyInEnv) {
    const { caller, block, runner, replies } = env
    this.#env = env
    runner.requireWritable()
    const view = viewFor(env.env.catalogue.snapshot, caller.principal.scopes)
    this.#table = requireTable(view, unquoted(command.table))
    const names =
      command.columns.length === 0 ? this.#table.columns.map(({ name }) => name) : command.columns.map(unquoted)
    this.#columns = names.map((name) => findColumn(this.#table, name))
    this.#format = formatOf(command.options)
    // Before the client is asked for rows, whether they are written now or at COMMIT.
    const target = { table: this.#table.name, columns: this.#columns, format: this.#format }
    checkBulk({ ...identify(caller, runner.requestId), ...target, ...INSERTED }, env.env)
    if (block.isOpen) this.#kept = []
    else {
      this.#inserted = this.#insert()
      this.#inserted.catch((error) => this.#fail(error))
    }
    replies.write(copyInResponse(command.options.format === 'binary' ? 1 : 0, this.#columns.length))
  }

  /** The bytes of a message, which are only valid now. */
  push(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#kept === undefined)
      return this.#source.push(Buffer.from(bytes))?.then(() => {
        if (this.#failure !== undefined) throw this.#failure.error
      })
    const size = bytes.length + PART_BYTES
    if (this.#env.block.keptBytes + this.#keptBytes + size > MAX_KEPT_BYTES)
      throw new WireError('54000', 'The block has more than 64 MiB of rows', AUTOCOMMIT)
    this.#env.caller.memory.take(size)
    this.#keptBytes += size
    this.#kept.push(Buffer.from(bytes))
    return undefined
  }

  async end(): Promise<void> {
    const { replies } = this.#env
    this.#isWhole = true
    if (this.#kept !== undefined) {
      replies.write(commandComplete(`COPY ${await this.#keep(this.#kept)}`))
      return
    }
    this.#source.end()
    replies.write(commandComplete(`COPY ${await this.#inserted}`))
  }

  /** By a CancelRequest, while the client sends rows. Afterwards the statement that reads or writes them is cancelled. */
  cancel(error: Error): void {
    if (this.#isWhole) return
    if (this.#kept === undefined) this.#source.fail(error)
    else this.#fail(error)
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#source.end()
    this.#env.onFailed(error)
  }

  /** The client, or the connection, ends it: nothing is written. */
  abort(error: Error): void {
    this.#env.caller.memory.give(this.#keptBytes)
    this.#keptBytes = 0
    this.#source.fail(error)
  }

  #insert(): Promise<number> {
    const kept = { table: this.#table.name, columns: this.#columns, format: this.#format }
    return insertRows(kept, this.#source, this.#env)
  }

  /** Every value is read, and none is written before COMMIT. */
  async #keep(parts: readonly Uint8Array[]): Promise<number> {
    const { runner } = this.#env
    const execution = runner.begin(shownCopy(this.#table.name))
    try {
      const rows = await runner.importing(execution, ({ signal }) => this.#keepParts(parts, signal))
      runner.finish(execution, 'ok', 0)
      return rows
    } catch (error) {
      runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
  }

  async #keepParts(parts: readonly Uint8Array[], signal: AbortSignal): Promise<number> {
    const { block, caller } = this.#env
    const kept = { table: this.#table.name, columns: this.#columns, format: this.#format, parts }
    const counted = this.#keptBytes
    if (block.isEmpty) {
      const rows = await this.#check(parts, signal)
      this.#keptBytes = 0
      block.keepCopy({ ...kept, counted })
      return rows
    }
    if (block.copy !== undefined) await spreadCopy(block.copy, this.#env, signal)
    const rows = await keepAsInserts(kept, this.#env, signal)
    this.#keptBytes = 0
    caller.memory.give(counted)
    return rows
  }

  async #check(parts: readonly Uint8Array[], signal: AbortSignal): Promise<number> {
    const columns = this.#columns.flatMap((name) => this.#table.columns.filter((column) => column.name === name))
    const reader = await openReader(this.#format, sourceOf(parts), this.#columns)
    let rows = 0
    for await (const batch of reader.read(columns)) {
      signal.throwIfAborted()
      rows += batch.rows
    }
    signal.throwIfAborted()
    return rows
  }
}

/** At COMMIT. The rows are counted until they are written. */
export async function insertKept(copy: KeptCopy, env: CopyInEnv): Promise<number> {
  const giveBack = env.caller.memory.handOver(copy.counted)
  try {
    return await insertRows(copy, sourceOf(copy.parts), env)
  } finally {
    giveBack()
  }
}

async function insertRows(
  { table, columns, format }: Omit<KeptCopy, 'parts' | 'counted'>,
  source: AsyncIterable<Uint8Array>,
  { env, caller, runner }: CopyInEnv,
): Promise<number> {
  const execution = runner.begin(shownCopy(table))
  try {
    const { rowsAffected } = await runner.importing(execution, (running) =>
      bulkInsert(
        {
          ...{ ...identify(caller, execution.requestId), table, columns, format, source, running, ...INSERTED },
          recheck: async () => caller.principal,
        },
        env,
      ),
    )
    runner.finish(execution, 'ok', 0)
    return rowsAffected
  } catch (error) {
    runner.finish(execution, outcomeOf(error), 0)
    throw error
  }
}

/** As COPY inserts rows. */
const INSERTED = { duplicates: 'reject', fillsDefaults: 'never' } as const

function identify({ principal, address }: SessionCaller, requestId: string) {
  return { principal, address, requestId }
}

function formatOf({ format, delimiter, absent, header, quote, ...options }: CopyOptions): BulkFormat {
  const hasHeader = header !== false
  if (format === 'binary') return { kind: 'copy-binary' }
  if (format === 'text') return { kind: 'copy-text', delimiter, null: absent, hasHeader }
  const { escape: escapes } = options
  return {
    kind: 'copy-csv',
    options: { delimiter, hasHeader, nulls: [absent], skipsEmptyLines: false, quote, escape: escapes },
  }
}

function shownCopy(table: string): string {
  return `COPY ${table} FROM STDIN`
}

/** Parts that arrive as messages, for a reader that asks for them. */
class CopySource implements AsyncIterable<Uint8Array> {
  #parts: Uint8Array[] = []
  #bytes = 0
  #hasEnded = false
  #error: Error | undefined
  #onPart: (() => void) | undefined
  #onRoom: (() => void) | undefined

  /** A promise if the sender has to wait. */
  push(part: Uint8Array): Promise<void> | undefined {
    if (this.#hasEnded) return undefined
    this.#parts.push(part)
    this.#bytes += part.length + PART_BYTES
    this.#onPart?.()
    if (this.#bytes < MAX_WAITING_BYTES) return undefined
    return new Promise((resolve) => {
      this.#onRoom = resolve
    })
  }

  end(): void {
    this.#hasEnded = true
    this.#onPart?.()
    this.#onRoom?.()
  }

  fail(error: Error): void {
    this.#error = error
    this.end()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error
      const parts = this.#parts
      this.#parts = []
      this.#bytes = 0
      this.#onRoom?.()
      yield* parts
      if (this.#parts.length > 0 || this.#error !== undefined) continue
      if (this.#hasEnded) return
      await new Promise<void>((resolve) => {
        this.#onPart = resolve
      })
    }
  }
}
