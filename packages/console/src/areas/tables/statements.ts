/** The statements that create and alter tables, as the forms show and run them. */
import { quoteName, quoteText } from '../../editor/quote.ts'
import type { SignInDemand } from '../../ui/index.ts'
import type { TableDetail } from './catalogue.ts'

export interface ColumnDraft {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly isKey: boolean
  /** An expression; empty for none. */
  readonly default: string
}

export interface TableDraft {
  readonly name: string
  readonly columns: readonly ColumnDraft[]
  readonly readScope: string
  readonly writeScope: string
  readonly rowFilter: string
  readonly readDemand: SignInDemand
  readonly writeDemand: SignInDemand
  readonly description: string
}

export const COLUMN_TYPES = [
  ...['Text', 'Integer', 'Decimal(18, 4)', 'Double', 'Boolean', 'Timestamp'],
  ...['Date', 'Time', 'Uuid', 'Json', 'Binary'],
]

export function createTable(draft: TableDraft): string {
  const { name, columns, readScope, writeScope, rowFilter, readDemand, writeDemand, description } = draft
  const keys = columns.filter(({ isKey }) => isKey).map((column) => quoteName(column.name))
  const parts = columns.map(columnDefinition)
  if (keys.length > 0) parts.push(`PRIMARY KEY (${keys.join(', ')})`)
  const options = [
    readScope !== '' && `READ SCOPE ${quoteText(readScope)}`,
    writeScope !== '' && `WRITE SCOPE ${quoteText(writeScope)}`,
    rowFilter !== '' && `ROW FILTER (${rowFilter})`,
    demandText(readDemand) !== '' && `REQUIRE ${demandText(readDemand)}`,
    demandText(writeDemand) !== '' && `WRITE REQUIRE ${demandText(writeDemand)}`,
    description !== '' && `COMMENT ${quoteText(description)}`,
  ].filter((option) => option !== false)
  return [`CREATE TABLE ${quoteName(name)} (\n  ${parts.join(',\n  ')}\n)`, ...options].join('\n')
}

export function columnDefinition({ name, type, nullable, isKey, default: value }: ColumnDraft): string {
  const isRequired = !nullable && !isKey
  return `${quoteName(name)} ${type}${isRequired ? ' NOT NULL' : ''}${value === '' ? '' : ` DEFAULT ${value}`}`
}

/** Empty if nothing is demanded. */
function demandText({ acr, age }: SignInDemand): string {
  const parts = [...(acr === '' ? [] : [`acr = ${acr}`]), ...(age.trim() === '' ? [] : [`age = ${age.trim()}`])]
  return parts.length === 0 ? '' : `(${parts.join(', ')})`
}

export interface TableSettings {
  readonly readScope: string
  readonly writeScope: string
  readonly rowFilter: string
  readonly readDemand: SignInDemand
  readonly writeDemand: SignInDemand
  readonly description: string
  readonly live: boolean
  readonly columnar: boolean
}

/** Only what is different; undefined if nothing is. */
export function alterSettings(table: string, before: TableSettings, after: TableSettings): string | undefined {
  const change = (name: string, value: string, print: (value: string) => string) =>
    `${name} ${value === '' ? 'NULL' : print(value)}`
  const [readDemand, writeDemand] = [demandText(after.readDemand), demandText(after.writeDemand)]
  const switches = [
    after.live !== before.live && `live = ${after.live ? 'on' : 'off'}`,
    after.columnar !== before.columnar && `columns = ${after.columnar ? 'on' : 'off'}`,
  ].filter((part) => part !== false)
  const changes = [
    after.readScope !== before.readScope && change('READ SCOPE', after.readScope, quoteText),
    after.writeScope !== before.writeScope && change('WRITE SCOPE', after.writeScope, quoteText),
    after.rowFilter !== before.rowFilter && change('ROW FILTER', after.rowFilter, (filter) => `(${filter})`),
    readDemand !== demandText(before.readDemand) && change('REQUIRE', readDemand, String),
    writeDemand !== demandText(before.writeDemand) && change('WRITE REQUIRE', writeDemand, String),
    after.description !== before.description && change('COMMENT', after.description, quoteText),
    switches.length > 0 && `WITH (${switches.join(', ')})`,
  ].filter((part) => part !== false)
  return changes.length === 0 ? undefined : `ALTER TABLE ${quoteName(table)} SET ${changes.join(' ')}`
}

/** `retention` is null where rows are kept for ever. */
export function alterRetention(
  { name, kept }: Pick<TableDetail, 'name' | 'kept'>,
  retention: { readonly time: string; readonly on: string } | null,
): string {
  const kind = kept === undefined ? 'TABLE' : 'MATERIALIZED VIEW'
  const clause = retention === null ? 'NULL' : `${quoteText(retention.time)} ON ${quoteName(retention.on)}`
  return `ALTER ${kind} ${quoteName(name)} SET WITH (retention = ${clause})`
}

export function alterHold(table: string, isHeld: boolean): string {
  return `ALTER TABLE ${quoteName(table)} SET WITH (hold = ${isHeld ? 'on' : 'off'})`
}
