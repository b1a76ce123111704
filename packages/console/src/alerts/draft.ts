/** What an alert begins as: from a result, and the cell of it that is marked. */

export interface MarkedCell {
  readonly column: string
  /** As the server says it: `Decimal(18, 4)`. */
  readonly type: string
  readonly value: unknown
}

const PLAIN_NAME = /^[a-z_][a-z0-9_]*$/i

/** A condition that the cell meets, or is about to: above a number, equal to a text. */
export function conditionFor({ column, type, value }: MarkedCell): string {
  const name = PLAIN_NAME.test(column) ? column : `"${column.replaceAll('"', '""')}"`
  if (value === null || value === undefined) return `${name} IS NULL`
  const kind = type.replace(/\(.*/, '')
  const text = String(value)
  switch (kind) {
    case 'Integer':
    case 'Decimal':
    case 'Double':
      return `${name} > ${text}`
    case 'Boolean':
      return text === 'true' ? name : `NOT ${name}`
    case 'Timestamp':
    case 'Date':
    case 'Time':
    case 'Uuid':
      return `${name} ${kind === 'Uuid' ? '=' : '>'} ${kind.toUpperCase()} ${quote(text)}`
    case 'Text':
      return `${name} = ${quote(text)}`
    default:
      return `${name} IS NOT NULL`
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A level that a condition compares a column with. */
export interface Threshold {
  readonly column: string
  readonly value: number
}

const COMPARISON = /("(?:[^"]|"")+"|[a-z_][a-z0-9_]*)\s*(?:<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)(?![\w.])/gi

/** For a chart: those that are numbers. What it leaves out is only not drawn. */
export function findThresholds(condition: string): readonly Threshold[] {
  return [...condition.matchAll(COMPARISON)].map(([, name = '', value]) => ({
    column: name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name,
    value: Number(value),
  }))
}
