/** Runs random statements on SQLite and PostgreSQL: `node fuzz/engines.ts [statements] [seed]`. The results must be identical. */

import type { Statement } from 'gatehouse-iql'
import { Choice } from '../test/query/agree/choice.ts'
import { makeRows } from '../test/query/agree/data.ts'
import { type Answers, type BothEngines, compare, openBothEngines } from '../test/query/agree/engines.ts'
import { Expressions } from '../test/query/agree/expressions.ts'
import { Queries } from '../test/query/agree/queries.ts'
import { shrink } from '../test/query/agree/shrink.ts'
import { isTotal } from '../test/query/agree/total.ts'
import { print } from '../test/query/iql/print.ts'

export interface Difference {
  readonly seed: number
  readonly statement: string
  readonly smallest: string
  readonly answers: Answers
}

export interface EngineReport {
  readonly statements: number
  /** How often both returned rows or the same error, and how often the results cannot be compared. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly used: ReadonlySet<string>
  readonly differences: readonly Difference[]
}

/** Statements per batch; a batch has its own seed and rows. */
const BATCH = 50
const ROWS = { a: 14, b: 9 }

export async function fuzzEngines(
  engines: BothEngines,
  total: number,
  seed: number,
  options: { readonly until?: number; readonly onDifference?: (difference: Difference) => void } = {},
): Promise<EngineReport> {
  const outcomes: Record<string, number> = {}
  const used = new Set<string>()
  const differences: Difference[] = []
  let statements = 0
  for (let batch = seed; statements < total && Date.now() < (options.until ?? Number.POSITIVE_INFINITY); batch++) {
    const choice = new Choice(batch)
    const isTame = batch % 3 !== 0
    const reload = await loader(engines, choice, isTame)
    const expressions = new Expressions(choice, isTame)
    const queries = new Queries(expressions)
    for (let index = 0; index < BATCH && statements < total; index++, statements++) {
      const statement = queries.statement()
      const answers = await engines.ask(print(statement))
      const verdict = compare(answers, isTotal(statement))
      const outcome = verdict === 'same' ? (answers.sqlite.code ?? 'rows') : verdict
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      if (verdict !== 'different') continue
      const difference = await explain(engines, batch, statement, reload)
      differences.push(difference)
      options.onDifference?.(difference)
      await reload()
    }
    for (const entry of expressions.used) used.add(entry)
  }
  return { statements, outcomes, used, differences }
}

async function loader(engines: BothEngines, choice: Choice, isTame: boolean): Promise<() => Promise<void>> {
  const a = makeRows(choice, ROWS.a, isTame)
  const b = makeRows(choice, ROWS.b, isTame)
  const load = () => engines.load(a, b)
  await load()
  return load
}

/** Writes leave different rows behind, so each attempt reloads the rows. */
async function explain(
  engines: BothEngines,
  seed: number,
  statement: Statement,
  reload: () => Promise<void>,
): Promise<Difference> {
  const isWrite = statement.kind !== 'query'
  const smallest = await shrink(statement, async (smaller) => {
    const text = printed(smaller)
    if (text === undefined) return false
    if (isWrite) await reload()
    return compare(await engines.ask(text), isTotal(smaller)) === 'different'
  })
  if (isWrite) await reload()
  return { seed, statement: print(statement), smallest: print(smallest), answers: await engines.ask(print(smallest)) }
}

/** Undefined for a tree that shrinking made invalid. */
function printed(statement: Statement): string | undefined {
  try {
    return print(statement)
  } catch {
    return undefined
  }
}

export function describeDifference({ seed, smallest, answers }: Difference): string {
  const shown = (['sqlite', 'postgres'] as const).map((name) => {
    const { code, rows } = answers[name]
    const other = answers[name === 'sqlite' ? 'postgres' : 'sqlite'].rows
    const own = rows.filter((row) => !other.includes(row))
    return `  ${name}: ${code ?? `${rows.length} rows, only here: ${own.slice(0, 3).join(' ')}`}`
  })
  return [`seed ${seed}: ${smallest}`, ...shown].join('\n')
}

if (import.meta.main) {
  const total = Number(process.argv[2] ?? 100_000)
  const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31)
  console.log(`running ${total} statements, seed ${seed}`)
  const engines = await openBothEngines()
  try {
    const report = await fuzzEngines(engines, total, seed, {
      onDifference: (difference) => console.log(describeDifference(difference)),
    })
    console.log(report.outcomes)
    console.log(`${report.statements} statements, ${report.differences.length} differences`)
    process.exitCode = report.differences.length === 0 ? 0 : 1
  } finally {
    await engines.close()
  }
}
