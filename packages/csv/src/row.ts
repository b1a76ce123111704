/** The conversion of records of CSV to rows of a table. */
import { type IqlType, readValue } from 'gatehouse-iql'
import { type CsvRow, csvField, parseCsvRecord } from './record.ts'
import type { ValueFormat } from './value-format.ts'

export interface TargetColumn {
  readonly name: string
  readonly type: IqlType
  readonly isRequired: boolean
  readonly hasDefault: boolean
  /** How the file writes its values, where that is not how IQL does. */
  readonly format?: ValueFormat | undefined
}

export interface CsvDialect {
  readonly delimiter: string
  /** Text that means "no value", besides the empty field. */
  readonly nulls?: ReadonlySet<string>
}

/** A value of a row as text, so that none is rounded; null for none. */
export interface RowField {
  readonly name: string
  readonly type: IqlType
  readonly text: string | null
}

/** The values of a record, or the reason why it cannot be a row. Fields without a column are left out. */
export function rowFields(
  raw: string,
  dialect: CsvDialect,
  columns: readonly (TargetColumn | undefined)[],
): { readonly fields: readonly RowField[] } | { readonly reason: string } {
  const parsed = parseFields(raw, dialect)
  if ('problem' in parsed) return { reason: parsed.problem }
  if (parsed.fields.length !== columns.length)
    return { reason: `has ${parsed.fields.length} fields, not ${columns.length}` }
  const fields: RowField[] = []
  for (const [index, column] of columns.entries()) {
    if (column === undefined) continue
    const { name, type, isRequired, hasDefault, format } = column
    const written = parsed.fields[index] ?? null
    const text = written === null ? null : (format?.convert(written) ?? written)
    if (text === null) {
      if (isRequired && !hasDefault) return { reason: `${name} is empty but needs a value` }
      fields.push({ name, type, text })
      continue
    }
    const read = readValue(type, text)
    if ('problem' in read) return { reason: `${name}: ${JSON.stringify(text)} ${read.problem}` }
    fields.push({ name, type, text })
  }
  return { fields }
}

/** The row as a record of CSV with commas, as a bulk insert takes it. */
export function rowCsv(fields: readonly RowField[]): string {
  return fields.map(({ text }) => (text === null ? '' : csvField(text))).join(',')
}

export function parseFields(raw: string, { delimiter, nulls }: CsvDialect): { fields: CsvRow } | { problem: string } {
  const parsed = parseCsvRecord(raw, delimiter)
  if ('problem' in parsed || nulls === undefined || nulls.size === 0) return parsed
  return { fields: parsed.fields.map((field) => (field !== null && nulls.has(field) ? null : field)) }
}
