/** Creating a table by form, with the statement that the form stands for. */

import { typeName } from 'gatehouse-iql'
import { useState } from 'preact/hooks'
import { statement } from '../../../../client/src/index.ts'
import { gate, may } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Button,
  Checkbox,
  Code,
  ErrorNotice,
  Forbidden,
  Form,
  IconButton,
  NO_DEMAND,
  Notice,
  Page,
  Section,
  TextField,
  useSubmit,
} from '../../ui/index.ts'
import { guessColumns, sampleFile } from './csv-file.ts'
import { detectDataFormat } from './data-file.ts'
import { FileDrop } from './drop.tsx'
import { waitingFile } from './import.tsx'
import { RightsFields } from './rights-fields.tsx'
import { COLUMN_TYPES, type ColumnDraft, createTable, type TableDraft } from './statements.ts'

const COLUMN: ColumnDraft = { name: '', type: 'Text', nullable: true, isKey: false, default: '' }
const EMPTY: TableDraft = {
  name: '',
  columns: [{ ...COLUMN, name: 'id', type: 'Integer', nullable: false, isKey: true }, COLUMN],
  readScope: '',
  writeScope: '',
  rowFilter: '',
  readDemand: NO_DEMAND,
  writeDemand: NO_DEMAND,
  description: '',
}

export function CreateTable({ onDefined }: { readonly onDefined: () => void }) {
  const [draft, setDraft] = useState<TableDraft>(EMPTY)
  const { isBusy, error, setError, submit } = useSubmit(async () => {
    await gate.query(statement(text)).result()
    toast(`Created the table ${draft.name}`, { kind: 'good' })
    onDefined()
    go(waitingFile.value === undefined ? href('tables', draft.name) : href('tables', draft.name, 'import'))
  })
  const parents = [{ title: 'Tables', href: href('tables') }]
  if (!may('Platform/Admin'))
    return (
      <Page title="Create a table" parents={parents}>
        <Forbidden rights={['Platform/Admin']} />
      </Page>
    )
  const named = { ...draft, columns: draft.columns.filter(({ name }) => name.trim() !== '') }
  const isReady = draft.name.trim() !== '' && named.columns.length > 0
  const text = createTable(isReady ? named : { ...named, name: draft.name || 'name' })
  const set = (part: Partial<TableDraft>) => setDraft({ ...draft, ...part })
  const setColumn = (at: number, part: Partial<ColumnDraft>) =>
    set({ columns: draft.columns.map((column, index) => (index === at ? { ...column, ...part } : column)) })
  const takeFile = async (file: File) => {
    setError(undefined)
    try {
      if ((await detectDataFormat(file)) !== undefined)
        throw new Error(
          'A new table takes its columns from a CSV file. Create the table, then import this file into it.',
        )
      const guesses = guessColumns(await sampleFile(file))
      waitingFile.value = file
      set({
        name:
          draft.name ||
          file.name
            .replace(/\.[^.]*$/, '')
            .replace(/\W+/g, '_')
            .toLowerCase(),
        columns: guesses.map(({ name, guess }, at) => ({
          ...COLUMN,
          name,
          type: typeName(guess.type),
          isKey: at === 0 && /^id$/i.test(name),
        })),
      })
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Page title="Create a table" parents={parents}>
      <Form class="define" onSubmit={submit}>
        {waitingFile.value === undefined ? (
          <FileDrop label="To start with the columns of a CSV file, drop it here" onFile={takeFile} />
        ) : (
          <Notice>
            The columns are those of {waitingFile.value.name}; its rows can be imported when the table exists.
          </Notice>
        )}
        <TextField label="Name" value={draft.name} onValue={(name) => set({ name })} required autofocus />
        <Section
          title="Columns"
          about="The columns of the primary key identify a row; without a primary key, rows cannot be edited."
        >
          <datalist id="column-types">
            {COLUMN_TYPES.map((type) => (
              <option key={type} value={type} />
            ))}
          </datalist>
          <ol class="define-columns">
            {draft.columns.map((column, at) => (
              <ColumnFields
                key={at}
                column={column}
                number={at + 1}
                onChange={(part) => setColumn(at, part)}
                onRemove={() => set({ columns: draft.columns.filter((_, index) => index !== at) })}
              />
            ))}
          </ol>
          <Button size="small" icon="plus" onClick={() => set({ columns: [...draft.columns, COLUMN] })}>
            Add a column
          </Button>
        </Section>
        <Section title="Rights" about="Who can read and write, and which rows each caller can see.">
          <RightsFields draft={draft} columns={named.columns} onChange={set} />
        </Section>
        <Code label="IQL" text={text} />
        {error !== undefined && <ErrorNotice error={error} title="The table was not created" />}
        <div class="row">
          <Button kind="primary" type="submit" busy={isBusy} disabled={!isReady}>
            Create the table
          </Button>
        </div>
      </Form>
    </Page>
  )
}

export function ColumnFields({
  column,
  number,
  onChange,
  onRemove,
}: {
  readonly column: ColumnDraft
  readonly number: number
  readonly onChange: (part: Partial<ColumnDraft>) => void
  readonly onRemove: () => void
}) {
  const field = { hideLabel: true }
  return (
    <li class="define-column">
      <TextField
        {...field}
        label={`Name of column ${number}`}
        placeholder="Name"
        value={column.name}
        onValue={(name) => onChange({ name })}
      />
      <TypeField label={`Type of column ${number}`} value={column.type} onValue={(type) => onChange({ type })} />
      <TextField
        {...field}
        label={`Default of column ${number}`}
        placeholder="Default: none"
        value={column.default}
        onValue={(value) => onChange({ default: value })}
      />
      <Checkbox label="Key" checked={column.isKey} onChecked={(isKey) => onChange({ isKey })} />
      <Checkbox
        label="NULL"
        checked={column.nullable && !column.isKey}
        disabled={column.isKey}
        onChecked={(nullable) => onChange({ nullable })}
      />
      <IconButton icon="close" label={`Remove column ${number}`} onClick={onRemove} />
    </li>
  )
}

/** Any type can be typed, such as Decimal(12, 2); the usual ones are offered. */
export function TypeField({
  label,
  value,
  onValue,
}: {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
}) {
  return (
    <input
      aria-label={label}
      list="column-types"
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
    />
  )
}
