/**
 * Uses of tables that products cover. Statements share the use of a table: it is kept for a minute after the last one, so that those that
 * follow find it at once. A live query has uses of its own.
 */
import type { Principal, Refusal, TableNeed } from 'gatehouse-protocol'
import { delaysByName } from '../../store/licences/coverage.ts'
import type { Product } from '../../store/licences/products.ts'
import { licenceUnavailable } from '../refusals.ts'
import { Followed } from './followed-tables.ts'
import { placeName } from './held-places.ts'
import { type Standings, type SubjectStandings, subjectKey } from './standings.ts'
import { type TableAccess, TableAccesses } from './table-access.ts'
import type { FollowedTables, HeldTables, TableCaller } from './table-contract.ts'
import { type TableCoverage, tableCoverages } from './table-coverage.ts'
import { type Expected, findRefusal, isLower, isNothing, isSamePart, lacksPlace } from './table-parts.ts'
import { chooseAccess, type PartAccess, QUERY_LINGER_MS, type Use, type Uses } from './uses.ts'

export interface TableUsesEnv {
  readonly uses: Uses
  readonly standings: Standings
  /** Undefined: this node knows what others have changed. Otherwise resolves when it does. */
  readonly catchUp: () => Promise<void> | undefined
  readonly onError: (error: unknown) => void
}

interface KeptUse {
  readonly table: string
  readonly coverage: TableCoverage
  /** Places of its parts in the coverage. */
  readonly places: readonly number[]
  readonly opening: Promise<Use>
  readonly listeners: Set<(reason: Refusal) => void>
  use: Use | undefined
  usedAt: number
}

/** What a statement has of a table from when it begins. */
interface Held {
  readonly access: TableAccess
  readonly refusal: Refusal | undefined
  /** Undefined where it has nothing of what it uses. */
  readonly kept: KeptUse | undefined
  /** Of the parts of the use. */
  readonly parts: readonly PartAccess[]
}

const SWEEP_MS = 5_000
const DECIDING_MS = 5_000

export type TableUses = ReturnType<typeof openTableUses>

export function openTableUses({ uses, standings, catchUp, onError }: TableUsesEnv) {
  const accesses = new TableAccesses()
  const kept = new Map<string, KeptUse>()
  const followed = new Set<Followed>()
  let coverages: ReadonlyMap<string, TableCoverage> = new Map()
  let delays: ReadonlyMap<string, readonly number[]> = new Map()
  const timer = setInterval(() => {
    const before = performance.now() - QUERY_LINGER_MS
    for (const [key, known] of kept) if (known.listeners.size === 0 && known.usedAt < before) drop(key, known)
  }, SWEEP_MS).unref()

  const expectedBy = new WeakMap<SubjectStandings, Map<string, Expected>>()

  function expect(found: SubjectStandings, table: string, coverage: TableCoverage): Expected {
    const tables = expectedBy.get(found) ?? new Map<string, Expected>()
    expectedBy.set(found, tables)
    const known = tables.get(table)
    if (known?.coverage === coverage) return known
    const parts = coverage.parts.map(({ products }) => chooseAccess(products, found))
    const expected = { coverage, parts, access: accesses.find(table, coverage, parts) }
    tables.set(table, expected)
    return expected
  }

  function drop(key: string, known: KeptUse): void {
    if (kept.get(key) === known) kept.delete(key)
    known.opening.then((use) => use.close(), onError)
  }

  function open(key: string, caller: TableCaller, need: TableNeed, coverage: TableCoverage, places: number[]): KeptUse {
    const parts = places.map((place) => coverage.parts[place]?.products ?? [])
    let before: readonly PartAccess[] = []
    const onChange = (now: readonly PartAccess[]): void => {
      // It is asked for anew where a place is missing: one may be free then.
      if (lacksPlace(now)) drop(key, known)
      const isLess = isLower(before, now)
      before = now
      if (isLess) for (const listener of known.listeners) listener(findRefusal(now, coverage))
    }
    const opening = uses.open({ parts, ...caller, lingerMs: 0, onChange })
    const known: KeptUse = {
      ...{ table: need.table, coverage, places, opening, listeners: new Set(), use: undefined },
      usedAt: performance.now(),
    }
    kept.set(key, known)
    opening.then(
      (use) => {
        known.use = use
        before = use.parts
        if (lacksPlace(use.parts)) drop(key, known)
      },
      () => {
        if (kept.get(key) === known) kept.delete(key)
      },
    )
    return known
  }

  /** Undefined: no product covers the table. */
  function hold(caller: TableCaller, need: TableNeed): Held | Promise<Held | undefined> | undefined {
    const coverage = coverages.get(need.table)
    if (coverage === undefined) return undefined
    const found = standings.current(caller.principal)
    if (found === undefined) return standings.read(caller.principal).then(() => hold(caller, need))
    const expected = expect(found, need.table, coverage)
    const places = (need.parts ?? [...coverage.parts.keys()]).filter(
      (place) => expected.parts[place]?.access !== 'none',
    )
    if (places.length === 0) return toHeld(expected, undefined)
    const { principal, address, way } = caller
    const key = `${way} ${subjectKey(principal)}\n${placeName(principal, address)}\n${need.table}\n${places.join()}`
    const known = kept.get(key) ?? open(key, caller, need, coverage, places)
    known.usedAt = performance.now()
    if (known.use !== undefined && known.use.deciding === undefined) return toHeld(expected, known)
    return settle(known).then(async () => toHeld(expect(await standings.read(principal), need.table, coverage), known))
  }

  /** One of which the caller has nothing: then no place of the others is taken, and no use recorded. */
  function findRefused({ principal }: TableCaller, needs: readonly TableNeed[]): TableNeed | undefined {
    const found = standings.current(principal)
    if (found === undefined || needs.length < 2) return undefined
    return needs.find(({ table }) => {
      const coverage = coverages.get(table)
      return coverage !== undefined && isNothing(expect(found, table, coverage))
    })
  }

  /** Where places are missing there is less than expected. */
  function toHeld({ coverage, parts: expected, access }: Expected, known: KeptUse | undefined): Held {
    const own = known?.use?.parts ?? []
    const places = known?.places ?? []
    const isAsExpected = own.every((part, index) => isSamePart(part, expected[places[index] ?? 0]))
    const parts = isAsExpected ? expected : expected.map((part, place) => own[places.indexOf(place)] ?? part)
    const refusal = isNothing({ parts }) ? findRefusal(parts, coverage) : undefined
    const found = isAsExpected ? access : accesses.find(access.table, coverage, parts)
    return { access: found, refusal, kept: known, parts: own }
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
      const found = standings.current(caller.principal)
      return found === undefined
        ? standings.read(caller.principal).then(() => {})
        : expect(found, table, coverage).access
    },

    /** Takes the places for these tables, or finds them taken. */
    hold(caller: TableCaller, needs: readonly TableNeed[]): HeldTables | Promise<HeldTables> {
      const catchingUp = catchUp()
      if (catchingUp !== undefined) return waitShortly(catchingUp).then(() => this.hold(caller, needs))
      const refused = findRefused(caller, needs)
      const all = (refused === undefined ? needs : [refused]).map((need) => hold(caller, need))
      if (all.some((each) => each instanceof Promise))
        return Promise.all(all).then((found) =>
          joinHeld(
            found.filter((each) => each !== undefined),
            catchUp,
          ),
        )
      return joinHeld(all.filter(isHeld), catchUp)
    },

    follow(caller: TableCaller, onChange: () => void): FollowedTables {
      const expectNow = (principal: Principal, table: string): Expected | Promise<void> | undefined => {
        const coverage = coverages.get(table)
        if (coverage === undefined) return undefined
        const found = standings.current(principal)
        return found === undefined ? standings.read(principal).then(() => {}) : expect(found, table, coverage)
      }
      const env = { caller, uses, accesses, catchUp, expect: expectNow, onChange }
      const opened = new Followed(env, () => followed.delete(opened))
      followed.add(opened)
      return opened
    },

    close(): void {
      clearInterval(timer)
      for (const [key, known] of kept) drop(key, known)
    },
  }
}

function isHeld(held: Held | Promise<Held | undefined> | undefined): held is Held {
  return held !== undefined && !(held instanceof Promise)
}

async function settle(known: KeptUse): Promise<KeptUse> {
  const use = await known.opening
  for (const deadline = performance.now() + DECIDING_MS; use.deciding !== undefined; )
    if (performance.now() > deadline) throw licenceUnavailable()
    else await Promise.race([use.deciding, wait(deadline - performance.now())])
  return known
}

async function waitShortly(work: Promise<void>): Promise<void> {
  const isDone = await Promise.race([work.then(() => true), wait(DECIDING_MS).then(() => false)])
  if (!isDone) throw licenceUnavailable()
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms + 1).unref())
}

function joinHeld(all: readonly Held[], catchUp: TableUsesEnv['catchUp']): HeldTables {
  // What each has may change while the statement runs: this is what it began with.
  const found = new Map(all.map(({ access }) => [access.table, access]))
  return {
    find: (table) => found.get(table),
    refusal: all.find(({ refusal }) => refusal !== undefined)?.refusal,
    catchUp,
    onLowered(listener) {
      for (const { kept, parts } of all) {
        kept?.listeners.add(listener)
        const now = kept?.use?.parts ?? []
        if (kept !== undefined && isLower(parts, now)) listener(findRefusal(now, kept.coverage))
      }
      return () => {
        for (const { kept } of all) {
          kept?.listeners.delete(listener)
          if (kept !== undefined) kept.usedAt = performance.now()
        }
      }
    },
  }
}
