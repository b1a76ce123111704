/** COPY … FROM STDIN: rows on the path of bulk inserts. In a block they are checked, and written at COMMIT. */
import type { TableView } from 'gatehouse-iql'
import { type BulkFormat, openReader } from '../../../query/codecs.ts'
import { findColumn, requireTable } from '../../../query/index.ts'
import { commandComplete, copyInResponse } from '../../protocol/replies.ts'
import type { Later, SessionCaller } from '../contract.ts'
import { WireError } from '../failure.ts'
import type { Replies } from '../replies.ts'
import type { Runner } from '../runner.ts'
import { AUTOCOMMIT } from '../transaction/block.ts'
import { type CopyTarget, type DeferredCopy, MAX_DEFERRED_BYTES } from '../transaction/deferred-rows.ts'
import { type CopyCommand, type CopyOptions, unquoted } from './copy-command.ts'
import { type DeferEnv, deferAsInserts, replaceByInserts, streamPieces } from './deferred-copy.ts'

/** The memory that a message takes besides its bytes: they may have one byte each. */
const PART_BYTES = 128
/** The sender waits while more than these bytes are not read. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

export interface CopyInEnv extends DeferEnv {
  readonly caller: SessionCaller
  readonly replies: Replies
}

/** One COPY FROM, from CopyInResponse to its end. */
export class CopyIn {
  readonly #env: CopyInEnv
  readonly #table: TableView
  readonly #target: CopyTarget
  /** Called when it fails, so that the client gets the error at once, even if it sends no more rows. */
  readonly #onFailed: (error: unknown) => void
  readonly #source = new CopySource()
  /** In a block: what COMMIT writes. */
  readonly #deferred: Uint8Array[] | undefined
  #deferredBytes = 0
  readonly #inserted: Promise<number> | undefined
  #failure: { readonly error: unknown } | undefined
  /** All rows have arrived. */
  #isWhole = false

  constructor(command: CopyCommand, env: CopyInEnv, onFailed: (error: unknown) => void) {
    const { block, runner, replies } = env
    this.#env = env
    this.#onFailed = onFailed
    block.requireWritable()
    this.#table = requireTable(runner.planning.view, unquoted(command.table))
    const names =
      command.columns.length === 0 ? this.#table.columns.map(({ name }) => name) : command.columns.map(unquoted)
    const columns = names.map((name) => findColumn(this.#table, name))
    this.#target = { table: this.#table.name, columns, format: toBulkFormat(command.options) }
    // Before the client is asked for rows, whether they are written now or at COMMIT.
    runner.permitInsert(this.#target)
    if (block.isOpen) this.#deferred = []
    else {
      this.#inserted = insertCopied(this.#target, () => this.#source[Symbol.asyncIterator](), runner)
      this.#inserted.catch((error) => this.#fail(error))
    }
    replies.write(copyInResponse(command.options.format === 'binary' ? 1 : 0, columns.length))
  }

  /** The bytes of a message, which are only valid now. */
  push(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#deferred === undefined)
      return this.#source.push(Buffer.from(bytes))?.then(() => {
        if (this.#failure !== undefined) throw this.#failure.error
      })
    const size = bytes.length + PART_BYTES
    if (this.#env.block.bytes + this.#deferredBytes + size > MAX_DEFERRED_BYTES)
      throw new WireError('54000', 'The block has more than 64 MiB of rows', AUTOCOMMIT)
    this.#env.caller.memory.take(size)
    this.#deferredBytes += size
    this.#deferred.push(Buffer.from(bytes))
    return undefined
  }

  async end(): Promise<void> {
    const { replies } = this.#env
    this.#isWhole = true
    if (this.#deferred !== undefined) {
      replies.write(commandComplete(`COPY ${await this.#defer(this.#deferred)}`))
      return
    }
    this.#source.end()
    replies.write(commandComplete(`COPY ${await this.#inserted}`))
  }

  /** By a CancelRequest, while the client sends rows. Afterwards the statement that reads or writes them is cancelled. */
  cancel(error: Error): void {
    if (this.#isWhole) return
    if (this.#deferred === undefined) this.#source.fail(error)
    else this.#fail(error)
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#source.end()
    this.#onFailed(error)
  }

  /** The client, or the connection, ends it: nothing is written. A promise until it no longer counts as a running insert of its user. */
  abort(error: Error): Later {
    this.#env.caller.memory.give(this.#deferredBytes)
    this.#deferredBytes = 0
    this.#source.fail(error)
    if (this.#inserted === undefined || this.#failure !== undefined) return undefined
    return this.#inserted.then(
      () => {},
      () => {},
    )
  }

  /** Every value is read, and none is written before COMMIT. */
  #defer(parts: readonly Uint8Array[]): Promise<number> {
    return this.#env.runner.defer(shownCopy(this.#target.table), ({ signal }) => this.#deferParts(parts, signal))
  }

  async #deferParts(parts: readonly Uint8Array[], signal: AbortSignal): Promise<number> {
    const { block, caller } = this.#env
    const bytes = this.#deferredBytes
    if (block.isEmpty) {
      const rows = await this.#check(parts, signal)
      this.#deferredBytes = 0
      block.deferCopy({ ...this.#target, parts, bytes })
      return rows
    }
    if (block.copy !== undefined) await replaceByInserts(block.copy, this.#env, signal)
    const rows = await deferAsInserts({ ...this.#target, parts }, this.#env, signal)
    this.#deferredBytes = 0
    caller.memory.give(bytes)
    return rows
  }

  async #check(parts: readonly Uint8Array[], signal: AbortSignal): Promise<number> {
    const { columns: names, format } = this.#target
    const columns = names.flatMap((name) => this.#table.columns.filter((column) => column.name === name))
    const reader = await openReader(format, streamPieces(parts), names)
    let rows = 0
    for await (const batch of reader.read(columns)) {
      signal.throwIfAborted()
      rows += batch.rows
    }
    signal.throwIfAborted()
    return rows
  }
}

/** At COMMIT. The memory of the rows is counted until they are written. */
export async function insertDeferred(copy: DeferredCopy, { caller, runner }: CopyInEnv): Promise<number> {
  const giveBack = caller.memory.handOver(copy.bytes)
  try {
    return await insertCopied(copy, () => streamPieces(copy.parts), runner)
  } finally {
    giveBack()
  }
}

function insertCopied(
  { table, columns, format }: CopyTarget,
  source: () => AsyncGenerator<Uint8Array, void, void>,
  runner: Runner,
): Promise<number> {
  return runner.insert(shownCopy(table), { table, columns, format, source })
}

function toBulkFormat({ format, delimiter, absent, header, quote, ...options }: CopyOptions): BulkFormat {
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

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
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
