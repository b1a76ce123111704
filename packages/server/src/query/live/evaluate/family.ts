/** Keeps results by key up to date. Those that differ only in the values compared with columns share one read. */

import { Refusal } from 'gatehouse-protocol'
import { BACKGROUND, inTurns, type Steps } from '../../../lib/turns.ts'
import { LostPosition } from '../../engines/live-source.ts'
import { tooManyRows } from '../limits.ts'
import { ownText } from '../results/difference.ts'
import type { LiveResult, VoidReason } from '../results/live-result.ts'
import { isStep, ROWS_PER_STEP } from '../results/row-steps.ts'
import type { FamilyTarget } from '../target.ts'
import { type Evaluation, Evaluator, type EvaluatorEnv, isTransient } from './evaluator.ts'
import type { TimedReply } from './reader.ts'
import { evaluateWhole } from './rerun.ts'

/** No row has this route. */
const NO_ROUTE = ''

/** A result from when it joins until it leaves. If it joins again, it is another member: evaluations that run do not take it in. */
interface Member {
  readonly result: LiveResult
  hasLeft: boolean
}

type Updates = Map<Member, Map<string, string | undefined>>

export class Family extends Evaluator {
  readonly tables: readonly string[]
  readonly method = 'keys'
  readonly isRepeated = false
  readonly #table: string
  /** By route. */
  readonly #members = new Map<string, Member>()
  /** Members that were read individually: their positions differ from that of the others. */
  readonly #fresh = new Set<Member>()
  /** The position of all other members. */
  #position: string | undefined
  /** Which of the other members holds a key. At most one does: a row has one value in each column. It may have left just now. */
  readonly #holders = new Map<string, Member>()

  constructor(target: FamilyTarget, env: EvaluatorEnv) {
    super(env)
    this.#table = target.table
    this.tables = [target.table]
  }

  get size(): number {
    return this.#members.size
  }

  join(result: LiveResult): void {
    const member = { result, hasLeft: false }
    this.#members.set(resultRoute(result), member)
    this.#fresh.add(member)
    if (this.#members.size === 1) this.open(result.positions)
    else this.env.watches.add(this, result.positions)
  }

  leave(result: LiveResult): void {
    const route = resultRoute(result)
    const member = this.#members.get(route)
    if (member?.result !== result) return
    member.hasLeft = true
    this.#members.delete(route)
    this.#fresh.delete(member)
    if (this.#members.size === 0) this.close()
    else inTurns(this.#forget(member, [...result.state.rows.keys()]), BACKGROUND)
  }

  protected async evaluate({ startedAt }: Evaluation): Promise<readonly LiveResult[]> {
    const members = new Set(this.#members.values())
    const fresh = new Set(this.#fresh)
    const since = this.#oldestPosition()
    const [first] = members
    const target = first?.result.target.family
    if (target === undefined) return []
    const reply = since === 'unclear' ? 'Definition' : await this.#read(target, since)
    if (typeof reply === 'string')
      return this.#evaluateEach(members, startedAt, reply === 'too much' ? undefined : reply)
    const updates = await inTurns(this.#route(reply, members, fresh), BACKGROUND)
    return inTurns(this.#apply(updates, reply, { members, fresh, startedAt }), BACKGROUND)
  }

  protected end(reason: Refusal): void {
    for (const { result } of [...this.#members.values()]) result.end(reason)
  }

  /** The position to read changes from: that of the member that is furthest behind. Reading more keys than needed is harmless. */
  #oldestPosition(): string | 'unclear' {
    let oldest = this.#position
    for (const { result } of this.#fresh) {
      const position = result.positions.get(this.#table) ?? ''
      const order = oldest === undefined ? -1 : this.env.reader.source.compare(position, oldest)
      if (order === undefined) return 'unclear'
      if (order < 0) oldest = position
    }
    return oldest ?? 'unclear'
  }

  async #read(target: FamilyTarget, since: string): Promise<TimedReply | VoidReason | 'too much'> {
    try {
      const reply = await this.env.reader.readChanged(target.read(since))
      return reply.exceeded === 'no' ? reply : 'too much'
    } catch (error) {
      if (error instanceof LostPosition) return error.isUndone ? 'Lost' : 'Definition'
      // A row that belongs to no member may be the one that fails.
      if (error instanceof Refusal && !isTransient(error) && error.code !== 'Limit.Time') return 'too much'
      throw error
    }
  }

  *#route(reply: TimedReply, members: ReadonlySet<Member>, fresh: ReadonlySet<Member>): Steps<Updates> {
    const updates: Updates = new Map()
    const update = (member: Member, key: string, row: string | undefined): void => {
      const rows: Map<string, string | undefined> = updates.get(member) ?? new Map()
      rows.set(ownText(key), row === undefined ? undefined : ownText(row))
      updates.set(member, rows)
    }
    let count = 0
    for (const key of reply.changed?.keys() ?? []) {
      if (count++ % ROWS_PER_STEP === 0) yield
      const holder = this.#holders.get(key)
      if (holder !== undefined) update(holder, key, undefined)
    }
    for (const member of fresh) {
      for (const key of member.result.rowCount === 0 ? [] : (reply.changed?.keys() ?? [])) {
        if (count++ % ROWS_PER_STEP === 0) yield
        if (member.result.state.rows.has(key)) update(member, key, undefined)
      }
    }
    for (const { key, route, row } of reply.rows) {
      if (isStep(count++, row)) yield
      const member = this.#members.get(route)
      if (member !== undefined && members.has(member)) update(member, key, row)
    }
    return updates
  }

  *#apply(
    updates: Updates,
    { positions, times }: TimedReply,
    given: { members: ReadonlySet<Member>; fresh: ReadonlySet<Member>; startedAt: number },
  ): Steps<LiveResult[]> {
    const { limits } = this.env.reader
    const changed: LiveResult[] = []
    let count = 0
    for (const member of given.members) {
      if (member.hasLeft) continue
      const { result } = member
      const rows = updates.get(member)
      if (rows === undefined) {
        result.confirm(positions)
        continue
      }
      const { version } = result
      const asOf = result.target.asOf(times)
      yield* result.apply(rows, positions, { at: given.startedAt, asOf, isWanted: () => !member.hasLeft })
      if (member.hasLeft) continue
      for (const [key, row] of rows) {
        if (count++ % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
        this.#hold(member, key, row)
      }
      if (result.rowCount > limits.rows) result.end(tooManyRows(limits))
      else if (result.version !== version) changed.push(result)
    }
    for (const member of given.fresh) {
      this.#fresh.delete(member)
      yield* this.#holdAll(member)
      yield
    }
    this.#position = positions.get(this.#table)
    this.env.watches.hasRead(this, positions)
    return changed
  }

  #hold(member: Member, key: string, row: string | undefined): void {
    if (row !== undefined && !member.hasLeft) this.#holders.set(key, member)
    else if (this.#holders.get(key) === member) this.#holders.delete(key)
  }

  *#holdAll(member: Member): Steps<void> {
    let count = 0
    for (const key of member.result.state.rows.keys()) {
      if (count++ % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
      if (member.hasLeft) return
      this.#holders.set(key, member)
    }
  }

  /** The keys of a member that has left: the result may have joined again meanwhile, and its rows may have changed. */
  *#forget(member: Member, keys: readonly string[]): Steps<void> {
    for (const [index, key] of keys.entries()) {
      if (index % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
      if (this.#holders.get(key) === member) this.#holders.delete(key)
    }
  }

  /** Reads each member individually. Only those whose own read fails end. */
  async #evaluateEach(
    members: ReadonlySet<Member>,
    startedAt: number,
    voidBy: VoidReason | undefined,
  ): Promise<readonly LiveResult[]> {
    const changed: LiveResult[] = []
    for (const member of members) {
      if (member.hasLeft) continue
      const { result } = member
      const { version } = result
      try {
        await evaluateWhole(result, this.env.reader, { startedAt, voidBy })
      } catch (error) {
        if (!(error instanceof Refusal) || isTransient(error) || error.code === 'Limit.Time') throw error
        result.end(error)
        continue
      }
      if (result.version !== version) changed.push(result)
    }
    this.#holders.clear()
    this.#position = undefined
    for (const member of this.#members.values()) {
      this.#fresh.add(member)
      this.env.watches.hasRead(this, member.result.positions)
    }
    return changed
  }
}

function resultRoute({ target }: LiveResult): string {
  return target.family?.route ?? NO_ROUTE
}
