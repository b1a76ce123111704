/** The form for a new row. An empty field is left to the default of its column. */
import { useState } from 'preact/hooks'
import { gate } from '../../gate.ts'
import { toast } from '../../shell/toasts.tsx'
import { ErrorNotice, FormDialog, TextField, useSubmit } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { TableColumn, TableDetail } from './catalogue.ts'

export function RowForm({
  table,
  onClose,
  onAdded,
}: {
  readonly table: TableDetail
  readonly onClose: () => void
  readonly onAdded: () => void
}) {
  const [texts, setTexts] = useState<ReadonlyMap<string, string>>(new Map())
  const { isBusy, error, submit } = useSubmit(async () => {
    await gate.table(table.name).insert(buildRow(table.columns, texts))
    toast(`Added a row to ${table.name}`, { kind: 'good' })
    onAdded()
  })
  return (
    <FormDialog title={`Add a row to ${table.name}`} action="Add" busy={isBusy} onClose={onClose} onSubmit={submit}>
      <div class="row-form">
        {error !== undefined && <ErrorNotice error={error} title="The row was not added" />}
        {table.columns.map((column) => (
          <TextField
            key={column.name}
            label={column.name}
            hint={columnHint(column)}
            value={texts.get(column.name) ?? ''}
            onValue={(text) => setTexts(new Map(texts).set(column.name, text))}
          />
        ))}
      </div>
    </FormDialog>
  )
}

/** Values are sent as text, which the server reads by the type of the column: nothing is rounded. */
function buildRow(columns: readonly TableColumn[], texts: ReadonlyMap<string, string>): Record<string, unknown> {
  const filled = columns.flatMap((column) => {
    const text = texts.get(column.name) ?? ''
    return text === '' ? [] : [[column.name, typedValue(column, text)] as const]
  })
  return Object.fromEntries(filled)
}

/** The typed value for a write: Json as JSON, everything else as text. */
export function typedValue({ name, type }: TableColumn, text: string): unknown {
  if (type !== 'Json') return text
  try {
    // Before it is sent: an integer that JavaScript would round is refused here.
    return JSON.parse(JSON.stringify(gate.values.parse(text)))
  } catch (error) {
    throw new Error(
      word(error instanceof SyntaxError ? `${name} is not valid JSON` : `${name} has an integer beyond 2^53`),
    )
  }
}

function columnHint({ type, nullable, default: value }: TableColumn): string {
  if (value !== null) return word(`${type}; if empty, the default ${value}`)
  return word(nullable ? `${type}; empty is NULL` : `${type}, required`)
}
