/** Small results whose values JSON can write as SQLite gives them: their rows go to JSON.stringify whole, which takes half as long as putting them together. */
import { FEW_ROWS } from '../../cost.ts'
import type { ResultColumn } from '../../result/encoding.ts'
import { jsonHead } from '../../result/json.ts'
import type { ReadRequest, WholeRead } from '../engine.ts'
import { quoteIdentifier } from './dialect.ts'
import { CHUNK_BYTES, type Statements } from './execute.ts'
import { plainReader } from './representation.ts'
import { boundedOutputs, MOST_COLUMNS } from './row-bounds.ts'

export type SmallRead = Omit<ReadRequest, 'signal'>

/** Undefined when the result has to be put together value by value, 'large' when it is not small after all. */
export function readPlain(statements: Statements, request: SmallRead): WholeRead | 'large' | undefined {
  const plan = planOf(request)
  if (plan === undefined || !plan.isFit || !isWhole(request)) return undefined
  const rows = takeRows(statements, request, plan)
  if (rows.length > FEW_ROWS) return 'large'
  const size = makePlain(rows, plan.cells)
  if (size === undefined) {
    // Such values seldom come alone: the plan is not read twice again.
    plan.isFit = false
    return undefined
  }
  if (size >= CHUNK_BYTES) return 'large'
  const text = jsonHead(request.columns) + JSON.stringify(rows).slice(1, -1)
  if (text.length >= CHUNK_BYTES) return 'large'
  return { text, outcome: { rowCount: rows.length, truncated: 'no', lastKey: [] } }
}

/** Nothing of the result is passed over, and no limit can cut what is small. */
function isWhole({ limits }: SmallRead): boolean {
  return limits.skip === 0 && limits.rows >= FEW_ROWS && limits.bytes >= CHUNK_BYTES
}

/** By the names of the columns or by their places. */
type Row = Record<string | number, unknown>

function takeRows(statements: Statements, { parameters, reach, encoding }: SmallRead, { sql }: Plain): Row[] {
  const statement = statements.get(sql, encoding.rows)
  if (reach === 'row by row') return statement.all(...parameters) as Row[]
  const row = statement.get(...parameters) as Row | undefined
  return row === undefined ? [] : [row]
}

/** Puts the wire's form in place of SQLite's; gives the characters of the texts, or undefined where a value has no plain form. */
function makePlain(rows: readonly Row[], cells: readonly PlainCell[]): number | undefined {
  let size = 0
  for (const row of rows) {
    for (const { key, read, isText } of cells) {
      const raw = row[key]
      if (raw === null) continue
      if (isText) {
        // A number stands for a text that is too long.
        size += typeof raw === 'string' ? raw.length : CHUNK_BYTES
        continue
      }
      const value = read(raw)
      if (value === undefined) return undefined
      if (value !== raw) row[key] = value
    }
  }
  return size
}

interface PlainCell {
  readonly key: string | number
  readonly read: (raw: unknown) => PlainValue | undefined
  readonly isText: boolean
}

type PlainValue = ReturnType<NonNullable<ReturnType<typeof plainReader>>>

interface Plain {
  readonly sql: string
  readonly cells: readonly PlainCell[]
  isFit: boolean
}

/** The columns of a plan are the same object whenever it runs. */
const PLANS = {
  objects: new WeakMap<readonly ResultColumn[], Plain | 'none'>(),
  arrays: new WeakMap<readonly ResultColumn[], Plain | 'none'>(),
}

function planOf(request: SmallRead): Plain | undefined {
  const { encoding, columns } = request
  if (encoding.format !== 'json' || encoding.integers !== 'numbers') return undefined
  const plans = PLANS[encoding.rows]
  let plan = plans.get(columns)
  if (plan === undefined) {
    plan = makePlan(request) ?? 'none'
    plans.set(columns, plan)
  }
  return plan === 'none' ? undefined : plan
}

function makePlan({ sql, columns, reach, encoding }: SmallRead): Plain | undefined {
  if (reach !== 'one row' && (reach !== 'row by row' || columns.length > MOST_COLUMNS)) return undefined
  const isNamed = encoding.rows === 'objects'
  if (isNamed && !columns.every(({ name }) => keepsItsPlace(name))) return undefined
  const cells: PlainCell[] = []
  for (const [index, column] of columns.entries()) {
    const read = plainReader(column)
    if (read === undefined) return undefined
    const isText = column.type.kind === 'Text'
    cells.push({ key: isNamed ? column.name : index, read, isText })
  }
  const outputs = reach === 'one row' ? columns.map((_column, index) => `c${index}`) : boundedOutputs(columns)
  const named = outputs.map((output, index) =>
    isNamed ? `${output} AS ${quoteIdentifier(columns[index]?.name ?? '')}` : output,
  )
  const limit = reach === 'one row' ? '' : ` LIMIT ${FEW_ROWS + 1}`
  return { sql: `SELECT ${named.join(', ')} FROM (${sql})${limit}`, cells, isFit: true }
}

/** Objects put members that look like indexes before all others, and give one name to their prototype. */
function keepsItsPlace(name: string): boolean {
  return !/^\d*$/.test(name) && name !== '__proto__'
}
