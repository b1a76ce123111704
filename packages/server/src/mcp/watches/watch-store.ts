/** The watches of agents: what each one is, whose it is, and the positions that it was given under small numbers. */
import { randomBytes } from 'node:crypto'
import { type Clock, type Principal, Refusal } from 'gatehouse-protocol'
import type { Json } from '../../lib/exact-json.ts'
import type { WatchRow, WatchRows } from '../../query/index.ts'
import type { Column } from '../text/rows.ts'

export type Watched =
  | {
      readonly kind: 'statement'
      readonly statement: string
      readonly parameters: Readonly<Record<string, Json>>
      /** Of the result, as the last whole one had them. */
      readonly columns: readonly Column[]
    }
  | { readonly kind: 'feed'; readonly feed: string; readonly topic: string }

export interface Watch {
  readonly id: string
  readonly watched: Watched
  /** The position with a number; undefined if it is not kept, or was never given. */
  position(number: number): string | undefined
  /** The newest. */
  readonly last: string | undefined
}

const ID = /^[\w-]{1,64}$/
const PER_GRANT = 20
const KEPT_MS = 3_600_000
const SWEEP_MS = 60_000
/** A use that says nothing new is noted once in this time. */
const NOTED_MS = 300_000
/** An assistant asks from the last one, or from the one before when it has lost an answer. */
const KEPT_POSITIONS = 20

type Positions = readonly (readonly [number: number, position: string])[]

export class WatchStore {
  readonly #rows: WatchRows
  readonly #clock: Clock
  readonly #sweep: NodeJS.Timeout
  #count = 0

  constructor(rows: WatchRows, clock: Clock, onError: (error: unknown) => void) {
    this.#rows = rows
    this.#clock = clock
    this.#sweep = setInterval(() => this.#removeUnused().catch(onError), SWEEP_MS).unref()
  }

  /** As counted last. */
  get count(): number {
    return this.#count
  }

  /** Returns its id and the number of its first position. */
  async create(principal: Principal, watched: Watched, position: string): Promise<{ id: string; since: number }> {
    const owner = grantKey(principal)
    const id = randomBytes(9).toString('base64url').replace(/^-/, 'w')
    const row = {
      id,
      owner,
      body: JSON.stringify(watched),
      positions: JSON.stringify([[1, position]]),
      used: this.#clock(),
    }
    if (!(await this.#rows.insert(row, PER_GRANT))) {
      await this.#removeUnused()
      if (!(await this.#rows.insert(row, PER_GRANT)))
        throw new Refusal(
          'mcp.watches',
          429,
          `This grant has ${PER_GRANT} watches: use one of them, or wait until the oldest is unused for an hour`,
        )
    }
    return { id, since: 1 }
  }

  /** What is another's is unknown. */
  async find(id: string, principal: Principal): Promise<Watch> {
    const row = await this.#find(id, principal)
    if (row === undefined)
      throw new Refusal(
        'mcp.no_watch',
        404,
        `There is no watch ${JSON.stringify(id)}: it ends an hour after its last use. Call watch again`,
      )
    await this.#noteUse(row)
    const positions: Positions = JSON.parse(row.positions)
    const byNumber = new Map(positions)
    const last = positions.at(-1)?.[1]
    return { id, watched: JSON.parse(row.body), last, position: (number) => byNumber.get(number) }
  }

  async #find(id: string, principal: Principal): Promise<WatchRow | undefined> {
    // PostgreSQL takes no NUL.
    const row = ID.test(id) ? await this.#rows.find(id) : undefined
    return row?.owner === grantKey(principal) && row.used >= this.#clock() - KEPT_MS ? row : undefined
  }

  /** Reading it and listening to it are uses, too. Without effect if another call was faster. */
  async #noteUse(row: WatchRow): Promise<void> {
    const now = this.#clock()
    if (row.used < now - NOTED_MS) await this.#rows.update({ ...row, used: now }, row.positions)
  }

  /** Keeps a position, and what is watched as it is now. Returns the number of the position. */
  async note({ id }: Pick<Watch, 'id'>, watched: Watched, position: string, principal: Principal): Promise<number> {
    for (;;) {
      const row = await this.#find(id, principal)
      if (row === undefined) throw new Refusal('mcp.no_watch', 404, 'The watch has ended: call watch again')
      const positions: Positions = JSON.parse(row.positions)
      const number = (positions.at(-1)?.[0] ?? 0) + 1
      const kept = [...positions, [number, position]].slice(-KEPT_POSITIONS)
      const after = { ...row, body: JSON.stringify(watched), positions: JSON.stringify(kept), used: this.#clock() }
      if (await this.#rows.update(after, row.positions)) return number
    }
  }

  async #removeUnused(): Promise<void> {
    await this.#rows.removeUnused(this.#clock() - KEPT_MS)
    this.#count = await this.#rows.count()
  }

  close(): void {
    clearInterval(this.#sweep)
  }
}

/** A client that acts for itself has no grant. */
export function grantKey({ grantId, kind, subject, clientId }: Principal): string {
  return grantId ?? `${kind}:${subject}:${clientId}`
}
