/** The definition of a table: columns, keys, indexes, scopes and row filter; changed by forms that show their statement. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { format } from '../../editor/format.ts'
import { may } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import {
  Badge,
  Button,
  bytes,
  Code,
  count,
  type DataColumn,
  demandText,
  Facts,
  Menu,
  type MenuItem,
  Section,
  Table,
  Time,
  useLoad,
} from '../../ui/index.ts'
import { Right } from '../../ui/rights.tsx'
import { word } from '../../ui/word.ts'
import { AddColumn, AddIndex, ChangeSettings, RenameColumn } from './alter.tsx'
import { readSegments, type TableColumn, type TableDetail, type TableIndex } from './catalogue.ts'
import { dropColumn, dropIndex, dropTable } from './dropping.ts'
import { KeptPart } from './kept.tsx'
import { RetentionPart } from './retention.tsx'

type Open = { readonly kind: 'column' | 'index' | 'settings' } | { readonly kind: 'rename'; readonly column: string }

interface PartProps {
  readonly table: TableDetail
  readonly onOpen: (dialog: Open) => void
  readonly onDefined: () => void
}

export function Structure({ table, onDefined }: Omit<PartProps, 'onOpen'>) {
  const [open, setOpen] = useState<Open>()
  const part = { table, onOpen: setOpen, onDefined }
  const dialog = {
    table,
    onClose: () => setOpen(undefined),
    onDone: () => {
      setOpen(undefined)
      onDefined()
    },
  }
  return (
    <>
      {table.kept !== undefined && <KeptPart table={table} kept={table.kept} />}
      <ColumnsPart {...part} />
      {table.view !== null && (
        <Section title="Query of the view">
          <Code text={format(table.view)} label="the query of the view" />
        </Section>
      )}
      {!table.isview && <IndexesPart {...part} />}
      <SettingsPart {...part} />
      {!table.isview && !table.issystem && table.retention !== undefined && (
        <RetentionPart table={table} onDefined={onDefined} />
      )}
      {table.rights.includes('alter') && <DangerPart {...part} />}
      {open?.kind === 'column' && <AddColumn {...dialog} />}
      {open?.kind === 'index' && <AddIndex {...dialog} />}
      {open?.kind === 'settings' && <ChangeSettings {...dialog} />}
      {open?.kind === 'rename' && <RenameColumn {...dialog} column={open.column} />}
    </>
  )
}

function ColumnsPart({ table, onOpen, onDefined }: PartProps) {
  const columnMenu = (column: TableColumn): readonly MenuItem[] => [
    { title: 'Rename…', icon: 'edit', act: () => onOpen({ kind: 'rename', column: column.name }) },
    { title: 'Drop…', icon: 'trash', danger: true, act: () => void dropColumn(table, column, onDefined) },
  ]
  return (
    <Section
      title="Columns"
      actions={
        mayAlter(table) && (
          <Button size="small" icon="plus" onClick={() => onOpen({ kind: 'column' })}>
            Add a column
          </Button>
        )
      }
    >
      <Table
        label="Columns"
        rows={table.columns}
        rowKey={({ name }) => name}
        columns={[
          { title: 'Name', cell: (column) => <ColumnName column={column} /> },
          { title: 'Type', cell: ({ type }) => <code>{type}</code> },
          {
            title: 'NULL',
            cell: ({ nullable }) => (nullable ? word('allowed') : <span class="quiet">–</span>),
            wide: true,
          },
          { title: 'Default', cell: (column) => column.default && <code>{column.default}</code>, wide: true },
          ...menuColumn(table, columnMenu),
        ]}
      />
    </Section>
  )
}

function IndexesPart({ table, onOpen, onDefined }: PartProps) {
  const indexMenu = (index: TableIndex): readonly MenuItem[] => [
    { title: 'Drop…', icon: 'trash', danger: true, act: () => void dropIndex(index, onDefined) },
  ]
  return (
    <Section
      title="Keys and indexes"
      actions={
        mayAlter(table) && (
          <Button size="small" icon="plus" onClick={() => onOpen({ kind: 'index' })}>
            Add an index
          </Button>
        )
      }
    >
      <Facts
        of={[
          ['Primary key', table.primarykey.length === 0 ? <None /> : <code>{table.primarykey.join(', ')}</code>],
          ...table.uniques.map((columns): [string, ComponentChildren] => [
            word('Unique'),
            <code key="columns">{columns.join(', ')}</code>,
          ]),
          ...(table.checks ?? []).map(({ name, condition }): [string, ComponentChildren] => [
            word(`Check ${name}`),
            <code key="condition">{condition}</code>,
          ]),
        ]}
      />
      {table.indexes.length > 0 && (
        <Table
          label="Indexes"
          rows={table.indexes}
          rowKey={({ name }) => name}
          columns={[
            { title: 'Index', cell: ({ name }) => name },
            { title: 'Columns', cell: (index) => <code>{listColumns(index)}</code> },
            { title: 'Unique', cell: ({ unique }) => word(unique === true ? 'yes' : 'no'), wide: true },
            ...menuColumn(table, indexMenu),
          ]}
        />
      )}
    </Section>
  )
}

function SettingsPart({ table, onOpen }: PartProps) {
  return (
    <Section
      title="Rights and settings"
      actions={
        mayAlter(table) && (
          <Button size="small" icon="edit" onClick={() => onOpen({ kind: 'settings' })}>
            Change
          </Button>
        )
      }
    >
      <Facts
        of={[
          ['To read', table.readscope === null ? word('any scope of the platform') : <Right of={table.readscope} />],
          ['Sign-in for reading', demandText(table.requireacr, table.requireage)],
          ...(table.isview || table.ismaterialized ? [] : writeFacts(table)),
          ['You may', table.rights.join(', ')],
          [word('Comment'), table.description ?? <None />],
          [word('Created'), <Time key="created" at={table.created} />],
        ]}
      />
    </Section>
  )
}

function DangerPart({ table, onDefined }: PartProps) {
  const onDropped = () => {
    go(href('tables'))
    onDefined()
  }
  return (
    <Section title="Danger">
      <Button kind="danger" icon="trash" onClick={() => dropTable(table, onDropped)}>
        {table.isview || table.ismaterialized ? 'Drop the view' : 'Drop the table'}
      </Button>
    </Section>
  )
}

/** Whether the user may change its columns, indexes and settings. A view has none that could be changed. */
function mayAlter({ rights, isview, ismaterialized }: TableDetail): boolean {
  return rights.includes('alter') && !isview && !ismaterialized
}

/** The column with the menu of each row; none if the user is not allowed to change the table. */
function menuColumn<Row extends { readonly name: string }>(
  table: TableDetail,
  rowMenu: (row: Row) => readonly MenuItem[],
): readonly DataColumn<Row>[] {
  if (!mayAlter(table)) return []
  return [
    { title: 'Actions', kind: 'actions', cell: (row) => <Menu label={`Change ${row.name}`} items={rowMenu(row)} /> },
  ]
}

function ColumnName({ column: { name, isprimarykey } }: { readonly column: TableColumn }) {
  return (
    <>
      {name} {isprimarykey && <Badge kind="accent">key</Badge>}
    </>
  )
}

/** A view has no rows to write, and no change log. */
function writeFacts(table: TableDetail): [string, ComponentChildren][] {
  const { writescope, rowfilter, live } = table
  return [
    ['To write', <Right key="write" of={writescope ?? 'Platform/Admin'} />],
    ['Sign-in for writing', demandText(table.writerequireacr, table.writerequireage)],
    ['Row filter', rowfilter === null ? <None /> : <code>{rowfilter}</code>],
    ['Changes are logged', word(live ? 'yes, for live queries' : 'no: live queries run again in full')],
    ...(table.columnar === undefined ? [] : [columnFact(table)]),
  ]
}

function columnFact({ name, columnar }: TableDetail): [string, ComponentChildren] {
  const state = columnar && may('Platform/Admin') ? <SegmentState key="segments" table={name} /> : undefined
  return ['Kept by column', state ?? word(columnar ? 'yes' : 'no')]
}

/** How much of the history is in column segments now. */
function SegmentState({ table }: { readonly table: string }) {
  const { data } = useLoad((signal) => readSegments(table, signal), [table])
  if (data === undefined) return <>yes</>
  const { ready, marked, missing, rows } = data
  return (
    <>
      yes: {count(rows)} rows in {count(ready)} segments, {bytes(data.bytes)}
      {marked + missing > 0 && <>; {count(marked + missing)} segments are being written</>}
    </>
  )
}

function None() {
  return <span class="quiet">none</span>
}

function listColumns({ columns }: TableIndex): string {
  return columns
    .map((column) => (typeof column === 'string' ? column : `${column.name}${column.descending ? ' DESC' : ''}`))
    .join(', ')
}
