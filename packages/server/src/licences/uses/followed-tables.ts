/** The tables of a live query, whose places it has for itself. */
import type { Principal, Refusal, TableNeed } from 'gatehouse-protocol'
import type { TableAccess, TableAccesses } from './table-access.ts'
import type { FollowedTables, TableCaller } from './table-contract.ts'
import { type Expected, findRefusal, isNothing } from './table-parts.ts'
import { Taker } from './taker.ts'
import type { Use, Uses } from './uses.ts'

export interface FollowedEnv {
  readonly uses: Uses
  readonly catchUp: () => Promise<void> | undefined
  readonly caller: TableCaller
  readonly accesses: TableAccesses
  /** A Promise: it is not known yet. */
  readonly expect: (principal: Principal, table: string) => Expected | Promise<void> | undefined
  readonly onChange: () => void
}

interface FollowedUse {
  readonly opening: Promise<void>
  /** Places of its parts in the coverage. */
  readonly places: readonly number[]
  readonly expected: Expected
  use: Use | undefined
}

export class Followed implements FollowedTables {
  readonly #env: FollowedEnv
  readonly #onClosed: () => void
  readonly #uses = new Map<string, FollowedUse>()
  /** Of all tables, also when a use of one follows another. */
  readonly #taker: Taker
  #principal: Principal
  #isClosed = false

  constructor(env: FollowedEnv, onClosed: () => void) {
    this.#env = env
    this.#onClosed = onClosed
    this.#principal = env.caller.principal
    this.#taker = new Taker(env.caller.mayDisplace)
  }

  find(table: string): TableAccess | Promise<void> | undefined {
    const known = this.#uses.get(table)
    if (known !== undefined) return known.use === undefined ? known.opening : this.#join(table, known)
    const expected = this.#env.expect(this.#principal, table)
    return expected === undefined || expected instanceof Promise ? expected : expected.access
  }

  hold(needs: readonly TableNeed[]): Promise<void> | undefined {
    const refused = needs.find(({ table }) => this.#hasNothing(table))
    const opening = (refused === undefined ? needs : [refused]).flatMap((need) => this.#hold(need) ?? [])
    return opening.length === 0 ? undefined : Promise.all(opening).then(() => {})
  }

  #hasNothing(table: string): boolean {
    if (this.#uses.has(table)) return this.refusalFor(table) !== undefined
    const expected = this.#env.expect(this.#principal, table)
    return expected !== undefined && !(expected instanceof Promise) && isNothing(expected)
  }

  #hold({ table, parts }: TableNeed): Promise<void> | undefined {
    const known = this.#uses.get(table)
    const expected = known?.expected ?? this.#env.expect(this.#principal, table)
    if (expected === undefined || expected instanceof Promise) return expected
    const places = parts ?? [...expected.parts.keys()]
    if (known !== undefined && known.places.join() === places.join()) return known.use ? undefined : known.opening
    this.#drop(table)
    return this.#open(table, places, expected)
  }

  /** The parts that are held, and the others as they were expected: the statement does not show them. */
  #join(table: string, { expected, places, use }: FollowedUse): TableAccess {
    const parts = expected.parts.map((part, place) => use?.parts[places.indexOf(place)] ?? part)
    return this.#env.accesses.find(table, expected.coverage, parts)
  }

  refusalFor(table: string): Refusal | undefined {
    const known = this.#uses.get(table)
    if (known?.use === undefined) return undefined
    const { expected, places, use } = known
    const parts = expected.parts.map((part, place) => use.parts[places.indexOf(place)] ?? part)
    return isNothing({ parts }) ? findRefusal(parts, expected.coverage) : undefined
  }

  catchUp(): Promise<void> | undefined {
    return this.#uses.size === 0 ? undefined : this.#env.catchUp()
  }

  setPrincipal(principal: Principal): void {
    this.#principal = principal
    for (const { use } of this.#uses.values()) use?.setPrincipal(principal)
  }

  /** Products cover these otherwise now. */
  cover(tables: ReadonlySet<string>): void {
    for (const table of tables) this.#drop(table)
  }

  close(): void {
    this.#isClosed = true
    for (const table of [...this.#uses.keys()]) this.#drop(table)
    this.#onClosed()
  }

  #open(table: string, places: readonly number[], expected: Expected): Promise<void> {
    const { caller, uses, onChange } = this.#env
    const parts = places.map((place) => expected.coverage.parts[place]?.products ?? [])
    const opening = uses
      .open({ parts, ...caller, principal: this.#principal, taker: this.#taker, onChange })
      .then((use) => {
        if (this.#isClosed || this.#uses.get(table) !== opened) return use.close()
        use.setPrincipal(this.#principal)
        opened.use = use
      })
      .catch((error: unknown) => {
        if (this.#uses.get(table) === opened) this.#uses.delete(table)
        throw error
      })
    const opened: FollowedUse = { opening, places, expected, use: undefined }
    this.#uses.set(table, opened)
    return opening
  }

  #drop(table: string): void {
    this.#uses.get(table)?.use?.close()
    this.#uses.delete(table)
  }
}
