/**
 * Bounds the idempotency keys that are stored with their responses in `_gh_requests`: their number and their bytes, of each owner and in
 * all. They are inserted with the write itself, by `idempotency-keys.ts` of each engine.
 */
import { TIMESTAMP } from 'gatehouse-iql'
import { CELL_BYTES, cellSize } from './bounded-rows.ts'
import type { ResponseCleanup, WriteReply, WriteRequest } from './engine.ts'
import type { ServiceStore } from './service-store.ts'
import { LONG_RESPONSE_BYTES, writeOutcome } from './stored-response.ts'

export interface ResponseLimits {
  readonly keysPerOwner: number
  readonly keys: number
  /** The limits for responses that are not short. */
  readonly bytesPerOwner: number
  readonly bytes: number
}

export const DEFAULT_RESPONSE_LIMITS: ResponseLimits = {
  keysPerOwner: 50_000,
  keys: 200_000,
  bytesPerOwner: 64 * 1024 * 1024,
  bytes: 512 * 1024 * 1024,
}

interface Held {
  readonly owner: string
  /** An Integer is a text in PostgreSQL, and may be a bigint in SQLite. */
  readonly amount: unknown
}

/**
 * A write counts only what this process has stored since the last check: the check itself reads two indexes. An owner who has stored too
 * much loses the oldest responses: long ones lose their rows, so that a repeated request still writes nothing; past the number of keys,
 * whole responses are deleted.
 */
export class IdempotencyCleanup implements ResponseCleanup {
  readonly #store: ServiceStore
  readonly #table: string
  readonly #limits: ResponseLimits
  #keys = 0
  #bytes = 0
  #trimming: Promise<void> | undefined

  constructor(store: ServiceStore, limits = DEFAULT_RESPONSE_LIMITS) {
    this.#store = store
    this.#table = `${store.schema}._gh_requests`
    this.#limits = limits
  }

  /** Call after each write. */
  count({ idempotencyKey }: Pick<WriteRequest, 'idempotencyKey'>, { isReplay, outcome }: WriteReply): void {
    if (idempotencyKey === undefined || isReplay) return
    const { keysPerOwner, bytesPerOwner } = this.#limits
    this.#keys++
    for (const row of outcome.rows) for (const cell of row) this.#bytes += CELL_BYTES + cellSize(cell)
    // If the database fails, other statements report it; the next check repeats the work.
    if (this.#keys >= keysPerOwner / 5 || this.#bytes >= bytesPerOwner / 2) this.trim().catch(() => {})
  }

  async deleteBefore(time: bigint): Promise<void> {
    const before = this.#store.bind(time, TIMESTAMP)
    await this.#store.write([(value) => `DELETE FROM ${this.#table} WHERE created < ${value(before)}`])
  }

  /** One at a time. */
  trim(): Promise<void> {
    this.#trimming ??= this.#trim().finally(() => {
      this.#trimming = undefined
    })
    return this.#trimming
  }

  async #trim(): Promise<void> {
    if (this.#keys === 0) return
    this.#keys = 0
    this.#bytes = 0
    const { keysPerOwner, keys, bytesPerOwner, bytes } = this.#limits
    const numbers = await this.#store.read<Held>(
      () => `SELECT owner, count(*) AS amount FROM ${this.#table} GROUP BY owner`,
    )
    for (const [owner, most] of tooMuch(numbers, keysPerOwner, keys)) await this.#deleteOldest(owner, most)
    const lengths = await this.#store.read<Held>(
      () => `SELECT owner, sum(octet_length(answer)) AS amount FROM ${this.#table} WHERE ${IS_LONG} GROUP BY owner`,
    )
    for (const [owner, most] of tooMuch(lengths, bytesPerOwner, bytes)) await this.#shortenOldest(owner, most)
  }

  async #deleteOldest(owner: string, most: number): Promise<void> {
    await this.#store.write([
      (value) => `DELETE FROM ${this.#table} WHERE owner = ${value(owner)} AND created <
        (SELECT created FROM ${this.#table} WHERE owner = ${value(owner)} ORDER BY created DESC LIMIT 1 OFFSET ${most})`,
    ])
  }

  async #shortenOldest(owner: string, most: number): Promise<void> {
    const long = await this.#store.read<{ key: string; amount: unknown }>(
      (value) => `SELECT key, octet_length(answer) AS amount FROM ${this.#table}
        WHERE owner = ${value(owner)} AND ${IS_LONG} ORDER BY created DESC, key`,
    )
    let held = 0
    for (const { key, amount } of long) {
      held += Number(amount)
      if (held <= most) continue
      const [found] = await this.#store.read<{ start: string }>(
        (value) => `SELECT substr(answer, 1, 100) AS start FROM ${this.#table}
          WHERE owner = ${value(owner)} AND key = ${value(key)}`,
      )
      const rowsAffected = Number(/"rowsAffected":(\d+)/.exec(found?.start ?? '')?.[1] ?? 0)
      const answer = writeOutcome({ rowsAffected, rows: [], isTruncated: true })
      await this.#store.write([
        (value) =>
          `UPDATE ${this.#table} SET answer = ${value(answer)} WHERE owner = ${value(owner)} AND key = ${value(key)}`,
      ])
    }
  }
}

/** Must match the condition of the partial index on long responses. */
const IS_LONG = `octet_length(answer) > ${LONG_RESPONSE_BYTES}`

/** The owners over their limit, with that limit. It is lower than the limit of each owner if all together hold too much. */
function tooMuch(held: readonly Held[], perOwner: number, inAll: number): (readonly [string, number])[] {
  const amounts = held.map(({ owner, amount }) => [owner, Number(amount)] as const).sort((a, b) => a[1] - b[1])
  let left = inAll
  let share = perOwner
  for (const [index, [, amount]] of amounts.entries()) {
    const equal = Math.floor(left / (amounts.length - index))
    if (amount > equal) {
      share = Math.min(perOwner, equal)
      break
    }
    left -= amount
  }
  return amounts.filter(([, amount]) => amount > share).map(([owner]) => [owner, share] as const)
}
