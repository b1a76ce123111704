/** Asking before expense: what a statement reads whole, how many rows that is, and what happens when it is much. */
import { hash } from 'node:crypto'
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Json } from '../../lib/exact-json.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { findWholeReads, type Planned, type QueryService } from '../../query/index.ts'
import type { Call } from '../protocol/features.ts'
import { escapeText, shortText } from '../text/escape.ts'

export interface ScanRules {
  readonly scans: 'ask' | 'refuse' | 'run'
  /** More rows that are read whole are much. */
  readonly rows: number
  /** A run that takes longer is long. */
  readonly milliseconds: number
}

/** A statement that is not run, or not to its end, unless a person wants it. */
export class Expensive extends Error {
  /** As a sentence. */
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

const KEPT_MS = 60_000
const MOST_COUNTS = 1_000

interface Count {
  readonly rows: number
  readonly until: number
}

/** Counts up to the bound: more is not needed. */
export type CountRows = (table: string, most: number) => Promise<number>

export class Expense {
  readonly #query: QueryService
  readonly #rules: () => ScanRules
  readonly #counts = new LruMap<Count>(MOST_COUNTS)
  readonly #reads = new WeakMap<Planned, readonly string[]>()

  constructor(query: QueryService, rules: () => ScanRules) {
    this.#query = query
    this.#rules = rules
  }

  get rules(): ScanRules {
    return this.#rules()
  }

  /** Throws Expensive where a plan reads more than the rules allow. Counts that are known need no promise. */
  check(planned: Planned, count: CountRows): void | Promise<void> {
    const names = this.#readWhole(planned)
    const unknown = names.filter((name) => this.#known(name) === undefined)
    if (unknown.length > 0) return this.#countAll(unknown, count).then(() => this.#judge(names))
    this.#judge(names)
  }

  #judge(names: readonly string[]): void {
    const { rows: most } = this.rules
    const counted = names.map((name) => ({ name, rows: this.#known(name) ?? 0 }))
    const sum = counted.reduce((total, { rows }) => total + rows, 0)
    if (sum <= most) return
    const shown = counted
      .filter(({ rows }) => rows > 0)
      .map(({ name, rows }) => `${shortText(name)} (${rows > most ? 'more than ' : ''}${Math.min(rows, most)} rows)`)
    throw new Expensive(`It reads all of ${shown.join(', ')}`)
  }

  async #countAll(names: readonly string[], count: CountRows): Promise<void> {
    for (const name of names) {
      const rows = await count(name, this.rules.rows + 1)
      this.#counts.set(name.toLowerCase(), { rows, until: performance.now() + KEPT_MS })
    }
  }

  #known(name: string): number | undefined {
    const count = this.#counts.get(name.toLowerCase())
    return count !== undefined && count.until > performance.now() ? count.rows : undefined
  }

  /** Without tables with a row filter or a licence: their counts would reveal hidden rows. */
  #readWhole(planned: Planned): readonly string[] {
    const known = this.#reads.get(planned)
    if (known !== undefined) return known
    const { catalogue } = this.#query
    const { bound, cost, snapshot } = planned
    // What ends after a few rows reads no more of a table.
    const found = cost === 'unbounded' ? findWholeReads(bound.statement, (table) => snapshot.findIndexes(table)) : []
    const isGroupedByColumns = found.length > 0 && this.#isGroupedByColumns(planned)
    const names = found.filter((name) => {
      if (isGroupedByColumns && snapshot.findDefinition(name)?.isColumnar === true) return false
      const table = catalogue.table(name)
      return table !== undefined && !table.isSystem && table.rowFilter === undefined && !this.#query.isLicensed(name)
    })
    this.#reads.set(planned, names)
    return names
  }

  /** Column segments are grouped in a fraction of the time that their rows take; only the time of the run bounds it. */
  #isGroupedByColumns({ bound: { statement }, autoParameters }: Planned): boolean {
    const { columns, planner } = this.#query
    if (statement.kind !== 'query' || columns?.isOn !== true) return false
    return !('why' in planner.emitter.planColumns(statement, autoParameters))
  }
}

const QUESTION = 'run'
const MOST_SHOWN = 2_000

/** Whether a person has wanted this statement in this round; undefined if nobody was asked, or about another one, as of a saved query that has changed. */
export function wasWanted({ answers, state }: Call, asked: AskedStatement): boolean | undefined {
  if (state === undefined || state !== digest(asked)) return undefined
  const { [QUESTION]: answer } = answers as Readonly<Record<string, Partial<Answer> | undefined>>
  if (answer?.action === undefined) return undefined
  return answer.action === 'accept' && answer.content?.run === true
}

export interface AskedStatement {
  readonly statement: string
  readonly parameters: Readonly<Record<string, Json>>
}

function digest({ statement, parameters }: AskedStatement): string {
  return hash('sha256', JSON.stringify([statement, parameters]), 'base64url')
}

interface Answer {
  readonly action: string
  readonly content: { readonly run?: unknown }
}

/** Asks the person, or says what the model can do instead. */
export function askOrRefuse(
  { reason }: Expensive,
  asked: AskedStatement,
  plan: string,
  call: Call,
  { scans }: ScanRules,
  issuer: string,
): never {
  // A person must not be shown a statement that hides a part of itself.
  const { statement } = asked
  const rest = statement.length - MOST_SHOWN
  const hidden = rest > 0 ? `\n(and ${rest} characters that are not shown)` : ''
  const lines = statement.slice(0, MOST_SHOWN).split('\n')
  const shown = lines.map((line) => `> ${escapeText(line)}`).join('\n') + hidden
  const message = `An assistant wants to run this statement. ${reason}.\n\n${shown}\n\nPlan:\n${plan}`
  if (scans === 'ask' && call.canAsk('elicitation/create')) {
    const properties = { [QUESTION]: { type: 'boolean', title: 'Run it', default: false } }
    const requestedSchema = { type: 'object', properties, required: [QUESTION] }
    const params = { mode: 'form', message, requestedSchema }
    call.ask({ [QUESTION]: { method: 'elicitation/create', params } }, digest(asked))
  }
  throw new Refusal('mcp.expensive', 422, `${reason}, which agents do not run by themselves`, {
    members: {
      Hint: `Filter by the first columns of a key or an index (describe_table lists them), read a shorter time, or show the person the statement and ${issuer}/console. Plan: ${plan}`,
    },
  })
}

/** Who counts as one, also for the rows of a day. */
export function ownerKey({ kind, subject }: Principal): string {
  return `${kind}:${subject}`
}
