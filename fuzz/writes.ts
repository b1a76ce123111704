/** Writes the same at random to SQLite and to PostgreSQL: `node fuzz/writes.ts [steps] [seed]`. Their tables must stay equal to the byte. */
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
  /** How often each kind of step was taken by both, or refused by both for the same reason. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly differences: readonly string[]
  /** Steps that took longer than anything over so few rows may. */
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
    const story: string[] = []
    for (let index = 0; index < BATCH && steps < total; index++, steps++) {
      const step = writes.step()
      story.push(shown(step))
      const started = performance.now()
      const answers = await engines.write(step.write)
      if (performance.now() - started > SLOW_MS) slow.push(`seed ${batch}: ${shown(step)}`)
      const verdict = compareWrites(answers, step.isTotal)
      const outcome = verdict === 'same' ? (answers.sqlite.code ?? 'taken') : verdict
      outcomes[`${step.kind}: ${outcome}`] = (outcomes[`${step.kind}: ${outcome}`] ?? 0) + 1
      if (verdict === 'same' && answers.sqlite.code === undefined) step.taken()
      const difference = verdict === 'different' ? answers : await differenceAfter(engines)
      if (difference === undefined && verdict === 'same') continue
      // Where an error depends on what is worked out first, one table may have changed and the other not.
      if (verdict === 'undecided') break
      const told = describe(batch, story, difference ?? answers)
      differences.push(told)
      options.onDifference?.(told)
      break
    }
  }
  return { steps, outcomes, differences, slow }
}

/** The whole table and its definition, where they differ. */
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

function describe(seed: number, story: readonly string[], answers: Answers): string {
  const only = (one: Answer, other: Answer): string =>
    one.code ??
    `${one.rows.length} rows, of its own: ${one.rows.filter((row) => !other.rows.includes(row)).slice(0, 3)}`
  const { sqlite, postgres } = answers
  const [made] = story.filter((text) => text.startsWith('CREATE TABLE')).slice(-1)
  const lines = [`seed ${seed}, step ${story.length}`, `  ${made}`, `  ${story.at(-1)}`]
  return [...lines, `  sqlite: ${only(sqlite, postgres)}`, `  postgres: ${only(postgres, sqlite)}`].join('\n')
}

if (import.meta.main) {
  const total = Number(process.argv[2] ?? 50_000)
  const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31)
  console.log(`taking ${total} steps, seed ${seed}`)
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
