/** Completion of columns before a statement names its table. */
import type { Completion } from '@codemirror/autocomplete'
import { FUNCTIONS, RESERVED, SPECIAL_FORMS } from 'gatehouse-iql'
import type { Catalogue, FoundColumn } from './catalogue.ts'
import { printed } from './printed.ts'
import { isName, type Span, unquoteName } from './scan.ts'

/** Names that are compared with those of tables: more would only take time. */
const MOST_NAMES = 6

/** In `select …` without a table: the columns of all tables, first those of tables that have the columns written so far. */
export async function columnsBeforeFrom(
  prefix: string,
  spans: readonly Span[],
  catalogue: Catalogue,
): Promise<Completion[]> {
  const written = new Set(spans.filter((span) => isColumnName(span)).map((span) => unquoteName(span).toLowerCase()))
  written.delete(prefix.toLowerCase())
  const [found, ...others] = await Promise.all(
    [prefix, ...[...written].slice(0, MOST_NAMES)].map((name) => catalogue.columnsLike(name)),
  )
  const having = others.map(
    (columns, index) =>
      new Set(
        columns.filter(({ name }) => name.toLowerCase() === [...written][index]).map(({ tablename }) => tablename),
      ),
  )
  const matches = (table: string) => having.filter((tables) => tables.has(table)).length
  return byName(found ?? []).map((columns) =>
    foundOption(columns, Math.max(...columns.map((c) => matches(c.tablename)))),
  )
}

const FUNCTION_NAMES: ReadonlySet<string> = new Set([...FUNCTIONS, ...SPECIAL_FORMS].map(({ name }) => name))

function isColumnName(span: Span): boolean {
  return isName(span) && (span.kind === 'quoted' || (!RESERVED.has(span.key) && !FUNCTION_NAMES.has(span.key)))
}

function byName(columns: readonly FoundColumn[]): readonly (readonly FoundColumn[])[] {
  return [...Map.groupBy(columns, ({ name }) => name).values()]
}

/** A column that one or several tables have. */
function foundOption(columns: readonly FoundColumn[], matches: number): Completion {
  const [{ name, type } = { name: '', type: '' }] = columns
  const tables = columns.map(({ tablename }) => tablename)
  const shown = tables.length > 3 ? `${tables.slice(0, 2).join(', ')} and ${tables.length - 2} more` : tables.join(', ')
  return {
    label: name,
    apply: printed(name),
    type: 'property',
    detail: `${type} · ${shown}`,
    boost: 2 + matches * 10,
    info: `${columns.map((column) => `${column.tablename}.${column.name} · ${column.type}`).join('\n')}`,
  }
}
