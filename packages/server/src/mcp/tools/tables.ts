/** The tools that say which tables there are, and what one is like. */
import { typeName } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { pageOfTables, type QueryService, requireTable, viewFor } from '../../query/index.ts'
import type { Call } from '../protocol/features.ts'
import { shortText } from '../text/escape.ts'
import { writeRows } from '../text/rows.ts'
import { quoteName } from './names.ts'
import { RowCounts } from './row-counts.ts'
import { AFTER, object } from './schemas.ts'
import type { ReadRows, Statements } from './statements.ts'
import type { Outcome, ToolDefinition } from './tool-set.ts'

const LISTED = 100
const SAMPLE = { rows: 3, bytes: 4096 }

export function listTablesTool(query: QueryService): ToolDefinition {
  const counts = new RowCounts(query)
  return {
    name: 'list_tables',
    title: 'List tables',
    description:
      'Lists the tables and views that the user may read, with about how many rows they have, and their descriptions. Begin here.',
    example: {},
    inputSchema: object([], {
      search: { type: 'string', maxLength: 128, description: 'A word in the name or the description.' },
      after: AFTER,
    }),
    async run(args, { principal }) {
      const word = args.text('search')?.toLowerCase() ?? ''
      const view = viewFor(query.catalogue, principal.scopes)
      const lines: string[] = []
      let after = args.text('after') ?? ''
      let isEnd = false
      while (lines.length < LISTED && !isEnd) {
        const page = { prefix: '', isSystem: false, after, limit: LISTED - lines.length }
        const { tables, next } = pageOfTables(query.catalogue, view, page)
        for (const { name } of tables) {
          if (view.lookup(name) === undefined) continue
          const definition = requireDefinition(query, name)
          const { description = '' } = definition
          if (word !== '' && !`${name} ${description}`.toLowerCase().includes(word)) continue
          const kind = nameKind(definition)
          const rows = kind === 'view' ? '' : await counts.describe(name)
          const about = [...(kind === 'table' ? [] : [kind]), ...(rows === '' ? [] : [rows])].join(', ')
          lines.push(`${shortText(name)}${about === '' ? '' : ` (${about})`}: ${shortText(description)}`)
        }
        isEnd = next === undefined
        after = next ?? ''
      }
      const tail = isEnd ? [] : [`# More follow: call again with after "${shortText(after)}", or search.`]
      const head = `${lines.length} ${lines.length === 1 ? 'table or view' : 'tables and views'}`
      return { text: [head, ...lines, ...tail].join('\n') }
    },
  }
}

export function describeTableTool(query: QueryService, statements: Statements): ToolDefinition {
  return {
    name: 'describe_table',
    title: 'Describe a table',
    description: 'Columns with their types, keys, indexes, row filter, how it can be live, and three rows of a table.',
    example: { table: 'trades' },
    inputSchema: object(['table'], { table: { type: 'string', minLength: 1, maxLength: 256 } }),
    async run(args, call): Promise<Outcome> {
      const table = requireReadable(query, args.text('table') ?? '', call)
      const name = quoteName(table.name)
      const own = { parameters: {}, isInternal: true } as const
      const sample = await statements
        .read({ ...own, statement: `SELECT * FROM ${name} LIMIT ${SAMPLE.rows}`, rows: SAMPLE.rows }, call)
        .catch(refusalOfView)
      const lines = describe(table, query)
      const tables = [table.name]
      if (sample instanceof Refusal) return { text: [...lines, '', shortText(sample.message, 500)].join('\n'), tables }
      const live = await statements.read({ ...own, statement: `EXPLAIN LIVE SELECT * FROM ${name}`, rows: 1 }, call)
      const text = [...lines, `live: ${liveText(live)}`, '', writeSample(sample)].join('\n')
      return { text, rows: sample.rows.length, tables }
    },
  }
}

export type Described = ReturnType<typeof requireReadable>

/** Throws as a statement does: what may not be read does not exist. */
export function requireReadable(
  { catalogue }: Pick<QueryService, 'catalogue'>,
  name: string,
  { principal }: Pick<Call, 'principal'>,
) {
  const view = viewFor(catalogue, principal.scopes)
  return requireDefinition({ catalogue }, requireTable(view, name).name)
}

function requireDefinition({ catalogue }: Pick<QueryService, 'catalogue'>, name: string) {
  const definition = catalogue.findDefinition(name)
  if (definition === undefined) throw new Error(`The table ${name} is not in the catalogue`)
  return definition
}

/** A materialized view that is built, or cannot be, has no rows yet. */
function refusalOfView(error: unknown): Refusal {
  if (error instanceof Refusal && (error.code === 'Data.Building' || error.code === 'Data.ViewFailed')) return error
  throw error
}

function nameKind({ view, kept }: Pick<Described, 'view' | 'kept'>): 'table' | 'view' | 'materialized view' {
  if (view !== undefined) return 'view'
  return kept === undefined ? 'table' : 'materialized view'
}

export function describe(table: Described, { catalogue }: Pick<QueryService, 'catalogue'>): string[] {
  const { name, description, columns, primaryKey, uniques, indexes, kept, retention } = table
  const keys = new Set(primaryKey)
  const rowFilter = catalogue.findRowFilter(name)
  return [
    `${nameKind(table)} ${shortText(name)}${description === undefined ? '' : `: ${shortText(description)}`}`,
    ...columns.map(
      (column) =>
        `  ${shortText(column.name)} ${typeName(column.type)}${column.nullable ? '' : ' NOT NULL'}${keys.has(column.name) ? ' KEY' : ''}`,
    ),
    ...(primaryKey.length === 0 ? [] : [`primary key: ${shortText(primaryKey.join(', '))}`]),
    ...uniques.map((names) => `unique: ${shortText(names.join(', '))}`),
    ...indexes.map((index) => {
      const names = index.columns.map((column) => `${column.name}${column.descending ? ' DESC' : ''}`)
      return `index: ${shortText(names.join(', '))}${index.unique ? ' (unique)' : ''}`
    }),
    ...(rowFilter === undefined ? [] : [`row filter: ${shortText(rowFilter, 500)} (you see only such rows)`]),
    ...(retention === undefined
      ? []
      : [`retention: ${shortText(retention.time)} by ${shortText(retention.on)} (older rows are deleted)`]),
    ...(kept === undefined ? [] : [`kept from: ${shortText(kept.text, 2000)} (a moment behind it)`]),
  ]
}

function liveText({ rows: [row] }: ReadRows): string {
  const [method, , reason] = row ?? []
  const shown = shortText(String(method ?? ''))
  return reason === null || reason === undefined ? shown : `${shown} (${shortText(String(reason))})`
}

function writeSample(sample: ReadRows): string {
  return writeRows({ ...sample, hasMore: false }, SAMPLE, 'text', () => '').text
}
