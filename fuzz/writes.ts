/** Runs random writes on SQLite and PostgreSQL: `node fuzz/writes.ts [steps] [seed]`. Their tables must stay identical. */
import { Choice } from '../test/query/agree/choice.ts'
import { makeRows } from '../test/query/agree/data.ts'
import {
  type Answer,
  type Answers,
  type BothEngines,
  compareWrites,
  openBothEngines,
} from '../test/query/agree/engines.ts'
import { Expressions } from '../test/query/agree/expressions.ts'
import { Queries } from '../test/query/agree/queries.ts'
import { type Step, Writes } from '../test/query/agree/writes.ts'

export interface WritesReport {
  readonly steps: number
  /** How often both accepted each kind of step, or refused it for the same reason. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly differences: readonly string[]
  /** Steps that took too long for their number of rows. */
  readonly slow: readonly string[]
}

const BATCH = 40
const SLOW_MS = 5_000

export async function fuzzWrites(
  engines: BothEngines,
  total: number,
  seed: number,
  options: { readonly until?: number; readonly onDifference?: (difference: string) => void } = {},
): Promise<WritesReport> {
  const outcomes: Record<string, number> = {}
  const differences: string[] = []
  const slow: string[] = []
  let steps = 0
  for (let batch = seed; steps < total && Date.now() < (options.until ?? Number.POSITIVE_INFINITY); batch++) {
    const choice = new Choice(batch)
    const isTame = batch % 3 !== 0
    await engines.load(makeRows(choice, 14, isTame), makeRows(choice, 9, isTame))
    await engines.write('DROP TABLE IF EXISTS w')
    const expressions = new Expressions(choice, isTame)
    const writes = new Writes(expressions, new Queries(expressions))
    const history: string[] = []
    for (let index = 0; index < BATCH && steps < total; index++, steps++) {
      const step = writes.step()
      history.push(shown(step))
      const started = performance.now()
      const answers = await engines.write(step.write)
      if (performance.now() - started > SLOW_MS) slow.push(`seed ${batch}: ${shown(step)}`)
      const verdict = compareWrites(answers, step.isTotal)
      const outcome = verdict === 'same' ? (answers.sqlite.code ?? 'taken') : verdict
      outcomes[`${step.kind}: ${outcome}`] = (outcomes[`${step.kind}: ${outcome}`] ?? 0) + 1
      if (verdict === 'same' && answers.sqlite.code === undefined) step.taken()
      const difference = verdict === 'different' ? answers : await differenceAfter(engines)
      if (difference === undefined && verdict === 'same') continue
      // If the error depends on the order of evaluation, only one of the tables may have changed.
      if (verdict === 'undecided') break
      const description = describe(batch, history, difference ?? answers)
      differences.push(description)
      options.onDifference?.(description)
      break
    }
  }
  return { steps, outcomes, differences, slow }
}

/** The difference between the two tables or their definitions, if any. */
async function differenceAfter(engines: BothEngines): Promise<Answers | undefined> {
  for (const question of ['SELECT * FROM w', 'SHOW COLUMNS FROM w']) {
    const answers = await engines.ask(question)
    if (compareWrites(answers, true) !== 'same') return answers
  }
  return undefined
}

function shown({ write }: Step): string {
  return typeof write === 'string' ? write : `Insert ${JSON.stringify(write.rows)}`
}

function describe(seed: number, history: readonly string[], answers: Answers): string {
  const only = (one: Answer, other: Answer): string =>
    one.code ?? `${one.rows.length} rows, only here: ${one.rows.filter((row) => !other.rows.includes(row)).slice(0, 3)}`
  const { sqlite, postgres } = answers
  const [made] = history.filter((text) => text.startsWith('CREATE TABLE')).slice(-1)
  const lines = [`seed ${seed}, step ${history.length}`, `  ${made}`, `  ${history.at(-1)}`]
  return [...lines, `  sqlite: ${only(sqlite, postgres)}`, `  postgres: ${only(postgres, sqlite)}`].join('\n')
}

if (import.meta.main) {
  const total = Number(process.argv[2] ?? 50_000)
  const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31)
  console.log(`running ${total} steps, seed ${seed}`)
  const engines = await openBothEngines()
  try {
    const report = await fuzzWrites(engines, total, seed, { onDifference: (difference) => console.log(difference) })
    console.log(report.outcomes)
    for (const step of report.slow) console.log(`slow: ${step}`)
    console.log(`${report.steps} steps, ${report.differences.length} differences`)
    process.exitCode = report.differences.length === 0 ? 0 : 1
  } finally {
    await engines.close()
  }
}
