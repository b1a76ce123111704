/**
 * Uses of tables that products cover. Statements share the use of a table: it is kept for a minute after the last one, so that those that
 * follow find it at once. A live query has uses of its own.
 */
import type { Principal, Refusal } from 'gatehouse-protocol'
import { delaysByName } from '../../store/licences/coverage.ts'
import type { Product } from '../../store/licences/products.ts'
import type { Way } from '../places.ts'
import { isReason, licenceNeeded, licenceUnavailable } from '../refusals.ts'
import { placeName } from './held-places.ts'
import { type Standings, subjectKey } from './standings.ts'
import { type TableAccess, TableAccesses } from './table-access.ts'
import { type TableCoverage, tableCoverages } from './table-coverage.ts'
import { chooseAccess, type PartAccess, QUERY_LINGER_MS, type Use, type Uses } from './uses.ts'

export interface TableCaller {
  readonly principal: Principal
  readonly address: string
  readonly way: Way
}

/** Tables that one statement uses, with the places that this takes. */
export interface HeldTables {
  /** Undefined for other tables. */
  find(table: string): TableAccess | undefined
  /** Why there is no access to one of them, where there is none at all. */
  readonly refusal: Refusal | undefined
  /** Called once, when there is less access than there was. Returns what ends that, and must be called. */
  onLowered(listener: (reason: Refusal) => void): () => void
}

/** Tables that a live query uses. */
export interface FollowedTables {
  /** Undefined: no product covers it. A Promise: it is not known yet; what it resolves to is found then. */
  find(table: string): TableAccess | Promise<void> | undefined
  refusalFor(table: string): Refusal | undefined
  setPrincipal(principal: Principal): void
  close(): void
}

export interface TableUsesEnv {
  readonly uses: Uses
  readonly standings: Standings
  readonly onError: (error: unknown) => void
}

interface KeptUse {
  readonly table: string
  readonly coverage: TableCoverage
  readonly opening: Promise<Use>
  readonly listeners: Set<(reason: Refusal) => void>
  use: Use | undefined
  access: TableAccess | undefined
  refusal: Refusal | undefined
  usedAt: number
}

const SWEEP_MS = 5_000
const DECIDING_MS = 5_000

export type TableUses = ReturnType<typeof openTableUses>

export function openTableUses({ uses, standings, onError }: TableUsesEnv) {
  const accesses = new TableAccesses()
  const kept = new Map<string, KeptUse>()
  const followed = new Set<Followed>()
  let coverages: ReadonlyMap<string, TableCoverage> = new Map()
  let delays: ReadonlyMap<string, readonly number[]> = new Map()
  const timer = setInterval(() => {
    const before = performance.now() - QUERY_LINGER_MS
    for (const [key, known] of kept) if (known.listeners.size === 0 && known.usedAt < before) drop(key, known)
  }, SWEEP_MS).unref()

  function keptKey({ principal, address, way }: TableCaller, table: string): string {
    return `${way} ${subjectKey(principal)}\n${placeName(principal, address)}\n${table}`
  }

  function drop(key: string, known: KeptUse): void {
    if (kept.get(key) === known) kept.delete(key)
    known.opening.then((use) => use.close(), onError)
  }

  function open(caller: TableCaller, table: string, coverage: TableCoverage): KeptUse {
    const key = keptKey(caller, table)
    const parts = coverage.parts.map(({ products }) => products)
    const onChange = (now: readonly PartAccess[]): void => {
      const before = known.access
      take(known, now)
      // It is asked for anew where a place is missing: one may be free then.
      if (lacksPlace(now)) drop(key, known)
      if (before === undefined || known.access === undefined || !isLower(before, known.access)) return
      const reason = known.refusal ?? findRefusal(now, coverage)
      for (const listener of known.listeners) listener(reason)
    }
    const opening = uses.open({ parts, ...caller, lingerMs: 0, onChange })
    const known: KeptUse = {
      ...{ table, coverage, opening, listeners: new Set(), use: undefined, access: undefined, refusal: undefined },
      usedAt: performance.now(),
    }
    kept.set(key, known)
    opening.then(
      (use) => {
        known.use = use
        take(known, use.parts)
        if (lacksPlace(use.parts)) drop(key, known)
      },
      () => {
        if (kept.get(key) === known) kept.delete(key)
      },
    )
    return known
  }

  function take(known: KeptUse, parts: readonly PartAccess[]): void {
    known.access = accesses.find(known.table, known.coverage, parts)
    known.refusal = parts.every(({ access }) => access === 'none') ? findRefusal(parts, known.coverage) : undefined
  }

  /** A use whose access is known, or a Promise of one. Undefined: no product covers the table. */
  function useNow(caller: TableCaller, table: string): KeptUse | Promise<KeptUse> | undefined {
    const coverage = coverages.get(table)
    if (coverage === undefined) return undefined
    const known = kept.get(keptKey(caller, table)) ?? open(caller, table, coverage)
    known.usedAt = performance.now()
    if (known.use !== undefined && known.use.deciding === undefined) return known
    return settle(known)
  }

  return {
    /** Takes over what products cover, and returns the tables that these cover otherwise than before. */
    cover(products: ReadonlyMap<string, Product>): ReadonlySet<string> {
      const [before, delaysBefore] = [coverages, delays]
      coverages = tableCoverages(products.values())
      delays = delaysByName(products.values(), 'table')
      const changed = new Set(
        [...new Set([...before.keys(), ...coverages.keys()])].filter(
          (table) =>
            before.get(table)?.key !== coverages.get(table)?.key ||
            delaysBefore.get(table)?.join() !== delays.get(table)?.join(),
        ),
      )
      accesses.setFree(products)
      for (const [key, known] of kept) if (changed.has(known.table)) drop(key, known)
      for (const known of kept.values()) if (known.use !== undefined) take(known, known.use.parts)
      for (const each of followed) each.cover(changed)
      return changed
    },

    coverage: (table: string): TableCoverage | undefined => coverages.get(table),

    /** In milliseconds, the shortest first. */
    delays: (table: string): readonly number[] => delays.get(table) ?? [],

    get isEmpty(): boolean {
      return coverages.size === 0
    },

    /** What a caller has as long as no place is missing, to plan with. A Promise: it is not known yet. Undefined: no product covers it. */
    find(caller: TableCaller, table: string): TableAccess | Promise<void> | undefined {
      const coverage = coverages.get(table)
      if (coverage === undefined) return undefined
      const known = kept.get(keptKey(caller, table))
      if (known?.access !== undefined) return known.access
      const found = standings.current(caller.principal)
      if (found === undefined) return standings.read(caller.principal).then(() => {})
      const parts = coverage.parts.map(({ products }) => chooseAccess(products, found))
      return accesses.find(table, coverage, parts)
    },

    /** Takes the places for these tables, or finds them taken. */
    hold(caller: TableCaller, tables: readonly string[]): HeldTables | Promise<HeldTables> {
      const found = tables.map((table) => useNow(caller, table))
      if (!found.some((each) => each instanceof Promise)) return toHeld(found.filter(isKept))
      return Promise.all(found).then((all) => toHeld(all.filter((each) => each !== undefined)))
    },

    follow(caller: TableCaller, onChange: () => void): FollowedTables {
      const opened = new Followed({ caller, uses, accesses, coverages: () => coverages, onError, onChange }, () =>
        followed.delete(opened),
      )
      followed.add(opened)
      return opened
    },

    close(): void {
      clearInterval(timer)
      for (const [key, known] of kept) drop(key, known)
    },
  }
}

function isKept(found: KeptUse | Promise<KeptUse> | undefined): found is KeptUse {
  return found !== undefined && !(found instanceof Promise)
}

async function settle(known: KeptUse): Promise<KeptUse> {
  const use = await known.opening
  for (const deadline = performance.now() + DECIDING_MS; use.deciding !== undefined; )
    if (performance.now() > deadline) throw licenceUnavailable()
    else await Promise.race([use.deciding, wait(deadline - performance.now())])
  return known
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms + 1).unref())
}

function toHeld(uses: readonly KeptUse[]): HeldTables {
  // What each has may change while the statement runs: this is what it began with.
  const found = new Map(uses.flatMap(({ access }) => (access === undefined ? [] : [[access.table, access]])))
  return {
    find: (table) => found.get(table),
    refusal: uses.find(({ refusal }) => refusal !== undefined)?.refusal,
    onLowered(listener) {
      for (const { listeners } of uses) listeners.add(listener)
      return () => {
        for (const use of uses) {
          use.listeners.delete(listener)
          use.usedAt = performance.now()
        }
      }
    },
  }
}

interface FollowedEnv extends Pick<TableUsesEnv, 'uses' | 'onError'> {
  readonly caller: TableCaller
  readonly accesses: TableAccesses
  readonly coverages: () => ReadonlyMap<string, TableCoverage>
  readonly onChange: () => void
}

class Followed implements FollowedTables {
  readonly #env: FollowedEnv
  readonly #onClosed: () => void
  readonly #uses = new Map<string, { readonly opening: Promise<void>; use: Use | undefined }>()
  #principal: Principal
  #isClosed = false

  constructor(env: FollowedEnv, onClosed: () => void) {
    this.#env = env
    this.#onClosed = onClosed
    this.#principal = env.caller.principal
  }

  find(table: string): TableAccess | Promise<void> | undefined {
    const { accesses, coverages } = this.#env
    const coverage = coverages().get(table)
    if (coverage === undefined) return undefined
    const { use, opening } = this.#uses.get(table) ?? this.#open(table, coverage)
    return use === undefined ? opening : accesses.find(table, coverage, use.parts)
  }

  refusalFor(table: string): Refusal | undefined {
    const coverage = this.#env.coverages().get(table)
    const parts = this.#uses.get(table)?.use?.parts ?? []
    return coverage !== undefined && parts.every(({ access }) => access === 'none')
      ? findRefusal(parts, coverage)
      : undefined
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

  #open(table: string, coverage: TableCoverage) {
    const { caller, uses, onChange } = this.#env
    const parts = coverage.parts.map(({ products }) => products)
    const opened: { readonly opening: Promise<void>; use: Use | undefined } = {
      use: undefined,
      opening: uses
        .open({ parts, ...caller, principal: this.#principal, onChange })
        .then((use) => {
          if (this.#isClosed || this.#uses.get(table) !== opened) return use.close()
          use.setPrincipal(this.#principal)
          opened.use = use
        })
        .catch((error: unknown) => {
          if (this.#uses.get(table) === opened) this.#uses.delete(table)
          throw error
        }),
    }
    this.#uses.set(table, opened)
    return opened
  }

  #drop(table: string): void {
    this.#uses.get(table)?.use?.close()
    this.#uses.delete(table)
  }
}

function lacksPlace(parts: readonly PartAccess[]): boolean {
  return parts.some((part) => part.access === 'none' && part.refusal.code !== 'Licence.Needed')
}

/** Why there is no access, or not to all: where a place is missing that, else what is missing of the products. */
function findRefusal(parts: readonly PartAccess[], { products }: TableCoverage): Refusal {
  const refusals = parts.flatMap((part) => (part.access === 'none' ? [part.refusal] : []))
  const noPlace = refusals.find(({ code }) => code !== 'Licence.Needed')
  if (noPlace !== undefined) return noPlace
  const reasons = refusals.map(({ details }) => details.members?.Reason)
  const telling = reasons.find((reason) => isReason(reason) && reason !== 'none' && reason !== 'uncovered')
  return licenceNeeded([...products].sort(), isReason(telling) ? telling : 'none')
}

/** Whether any row is seen later than before, or no longer. */
function isLower(before: TableAccess, now: TableAccess): boolean {
  return before.parts.some((part, index) => {
    const other = now.parts[index]
    if (part.access === 'none') return false
    if (other === undefined || other.access === 'none') return true
    return other.access === 'delayed' && (part.access === 'realtime' || part.delay < other.delay)
  })
}
