/** Dialogs that alter a table. Each shows the statement that it runs. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { statement } from '../../../../client/src/index.ts'
import { quoteName } from '../../editor/quote.ts'
import { gate } from '../../gate.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Checkbox,
  Checkboxes,
  Code,
  ErrorNotice,
  Field,
  FormDialog,
  Notice,
  readDemand,
  Switch,
  TextField,
  useSubmit,
} from '../../ui/index.ts'
import type { TableDetail } from './catalogue.ts'
import { TypeField } from './create.tsx'
import { RightsFields } from './rights-fields.tsx'
import { alterSettings, COLUMN_TYPES, type ColumnDraft, columnDefinition } from './statements.ts'

export interface AlterProps {
  readonly table: TableDetail
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Runs a statement that defines something, and says what happened; false if it failed. */
export async function run(text: string, done: string): Promise<boolean> {
  try {
    await gate.query(statement(text)).result()
    toast(done, { kind: 'good' })
    return true
  } catch (error) {
    toastError(error)
    return false
  }
}

/** `text` is undefined while the form is not complete. */
export function AlterDialog({
  title,
  text,
  done,
  size,
  danger = false,
  onClose,
  onDone,
  children,
}: Omit<AlterProps, 'table'> & {
  readonly title: string
  readonly text: string | undefined
  readonly done: string
  /** In a wide dialog, the statement stands beside the form. */
  readonly size?: 'wide'
  /** True where something is lost. */
  readonly danger?: boolean
  readonly children: ComponentChildren
}) {
  const { isBusy, error, submit } = useSubmit(async () => {
    await gate.query(statement(text ?? '')).result()
    toast(done, { kind: 'good' })
    onDone()
  })
  return (
    <FormDialog
      title={title}
      action="Run"
      danger={danger}
      busy={isBusy}
      disabled={text === undefined}
      size={size}
      onClose={onClose}
      onSubmit={() => text !== undefined && submit()}
    >
      <div class={size === 'wide' ? 'row-form beside' : 'row-form'}>
        <div class="row-form">{children}</div>
        <div class="row-form">
          <Code label="IQL" text={text ?? '-- incomplete'} />
          {error !== undefined && <ErrorNotice error={error} title="The table was not changed" />}
        </div>
      </div>
    </FormDialog>
  )
}

export function AddColumn({ table, ...rest }: AlterProps) {
  const [column, setColumn] = useState<ColumnDraft>({
    name: '',
    type: 'Text',
    nullable: true,
    isKey: false,
    default: '',
  })
  const set = (part: Partial<ColumnDraft>) => setColumn({ ...column, ...part })
  const text =
    column.name === '' ? undefined : `ALTER TABLE ${quoteName(table.name)} ADD COLUMN ${columnDefinition(column)}`
  return (
    <AlterDialog {...rest} title={`Add a column to ${table.name}`} text={text} done={`Added the column ${column.name}`}>
      <datalist id="column-types">
        {COLUMN_TYPES.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <TextField label="Name" value={column.name} onValue={(name) => set({ name })} autofocus />
      <Field label="Type">
        {() => <TypeField label="Type" value={column.type} onValue={(type) => set({ type })} />}
      </Field>
      <TextField
        label="Default"
        hint="An expression. Without one, a column added to a table with rows must allow NULL."
        value={column.default}
        onValue={(value) => set({ default: value })}
      />
      <Checkbox label="NULL is allowed" checked={column.nullable} onChecked={(nullable) => set({ nullable })} />
    </AlterDialog>
  )
}

export function RenameColumn({ table, column, ...rest }: AlterProps & { readonly column: string }) {
  const [name, setName] = useState(column)
  const isReady = name !== '' && name !== column
  const text = `ALTER TABLE ${quoteName(table.name)} RENAME COLUMN ${quoteName(column)} TO ${quoteName(name)}`
  return (
    <AlterDialog {...rest} title={`Rename ${column}`} text={isReady ? text : undefined} done={`Renamed to ${name}`}>
      <TextField label="New name" value={name} onValue={setName} autofocus />
      <Notice kind="warning">Statements and saved queries that use the old name will fail.</Notice>
    </AlterDialog>
  )
}

export function AddIndex({ table, ...rest }: AlterProps) {
  const [name, setName] = useState('')
  const [columns, setColumns] = useState<readonly string[]>([])
  const [isUnique, setUnique] = useState(false)
  const own = name || `${table.name}_${columns.join('_')}`.toLowerCase()
  const text =
    columns.length === 0
      ? undefined
      : `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${quoteName(own)} ON ${quoteName(table.name)} (${columns.map(quoteName).join(', ')})`
  return (
    <AlterDialog {...rest} title={`Add an index to ${table.name}`} text={text} done={`Added the index ${own}`}>
      <TextField label="Name" placeholder={own} value={name} onValue={setName} />
      <fieldset class="index-columns">
        <legend>Columns, in the order you select them</legend>
        <Checkboxes items={table.columns.map(({ name }) => ({ name }))} chosen={columns} onChosen={setColumns} />
      </fieldset>
      <Checkbox label="Unique: no two rows have the same values" checked={isUnique} onChecked={setUnique} />
    </AlterDialog>
  )
}

export function ChangeSettings({ table, ...rest }: AlterProps) {
  const before = {
    readScope: table.readscope ?? '',
    writeScope: table.writescope ?? '',
    rowFilter: table.rowfilter ?? '',
    readDemand: readDemand(table.requireacr, table.requireage),
    writeDemand: readDemand(table.writerequireacr, table.writerequireage),
    description: table.description ?? '',
    live: table.live,
    columnar: table.columnar === true,
  }
  const [after, setAfter] = useState(before)
  return (
    <AlterDialog
      {...rest}
      title={`Rights and settings of ${table.name}`}
      text={alterSettings(table.name, before, after)}
      done={`Changed the settings of ${table.name}`}
      size="wide"
    >
      <RightsFields draft={after} columns={table.columns} onChange={(part) => setAfter({ ...after, ...part })} />
      <Switch
        label="Log changes for live queries"
        checked={after.live}
        onChecked={(live) => setAfter({ ...after, live })}
      />
      {table.columnar !== undefined && (
        <Switch
          label="Keep the rows by column, too, for groupings of many rows"
          checked={after.columnar}
          onChecked={(columnar) => setAfter({ ...after, columnar })}
        />
      )}
    </AlterDialog>
  )
}
