/** The conversion of records of CSV to rows of a table. */
import type { IqlType } from '../query/iql/types.ts'
import { readValue } from '../query/iql/values.ts'
import type { DateFormat } from './date-formats.ts'
import { parseCsvRecord } from './record.ts'

export interface TargetColumn {
  readonly name: string
  readonly type: IqlType
  readonly isRequired: boolean
  readonly hasDefault: boolean
  /** How the file writes its dates, where that is not ISO 8601. */
  readonly dateFormat?: DateFormat | undefined
}

/** A record as the JSON of a row, or the reason why it cannot be one. Values are sent as text, so that none is rounded.
 * Fields without a column are left out. */
export function rowOf(
  raw: string,
  delimiter: string,
  columns: readonly (TargetColumn | undefined)[],
): { json: string } | { reason: string } {
  const parsed = parseCsvRecord(raw, delimiter)
  if ('problem' in parsed) return { reason: parsed.problem }
  const { fields } = parsed
  if (fields.length !== columns.length) return { reason: `has ${fields.length} fields, not ${columns.length}` }
  const members: string[] = []
  for (const [index, column] of columns.entries()) {
    if (column === undefined) continue
    const { name, type, isRequired, hasDefault, dateFormat } = column
    const written = fields[index] ?? null
    const field = written === null ? null : (dateFormat?.toIso(written) ?? written)
    if (field === null) {
      if (isRequired && !hasDefault) return { reason: `${name} is empty but needs a value` }
      if (!hasDefault) members.push(`${JSON.stringify(name)}:null`)
      continue
    }
    const read = readValue(type, field)
    if ('problem' in read) return { reason: `${name}: ${JSON.stringify(field)} ${read.problem}` }
    members.push(`${JSON.stringify(name)}:${type.kind === 'Json' ? field : JSON.stringify(field)}`)
  }
  return { json: `{${members.join(',')}}` }
}
