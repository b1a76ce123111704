/** The definition of a table: columns, keys, indexes, scopes and row filter; changed by forms that show their statement. */
import { useState } from 'preact/hooks'
import { format } from '../../editor/format.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { Badge, Button, Code, Facts, Menu, Section, Table, Time } from '../../ui/index.ts'
import { AddColumn, AddIndex, ChangeSettings, RenameColumn, run } from './alter.tsx'
import type { TableColumn, TableDetail, TableIndex } from './catalogue.ts'
import { nameOf } from './statements.ts'

type Open = { readonly kind: 'column' | 'index' | 'settings' } | { readonly kind: 'rename'; readonly column: string }

export function Structure({ table, onDefined }: { readonly table: TableDetail; readonly onDefined: () => void }) {
  const [open, setOpen] = useState<Open>()
  const mayDefine = table.rights.includes('alter')
  const mayAlter = mayDefine && !table.isview
  const kind = table.isview ? 'view' : 'table'
  const dialog = {
    table,
    onClose: () => setOpen(undefined),
    onDone: () => {
      setOpen(undefined)
      onDefined()
    },
  }
  const ask = async (statement: string, title: string, text: string, done: string) => {
    const isSure = await confirm({ title, text: `${text} It runs: ${statement}`, action: 'Drop', danger: true })
    return isSure && (await run(statement, done))
  }
  const dropColumn = async ({ name }: TableColumn) => {
    const statement = `ALTER TABLE ${nameOf(table.name)} DROP COLUMN ${nameOf(name)}`
    const lost = `The values of ${name} in all rows are lost.`
    if (await ask(statement, `Drop the column ${name}?`, lost, `Dropped ${name}`)) onDefined()
  }
  const dropIndex = async ({ name }: TableIndex) => {
    const lost = 'Queries that use it become slower; no rows are lost.'
    if (await ask(`DROP INDEX ${nameOf(name)}`, `Drop the index ${name}?`, lost, `Dropped ${name}`)) onDefined()
  }
  const dropTable = async () => {
    const lost = table.isview ? 'The tables that it reads keep their rows.' : 'All of its rows are lost.'
    const statement = `DROP ${kind.toUpperCase()} ${nameOf(table.name)}`
    if (!(await ask(statement, `Drop the ${kind} ${table.name}?`, lost, `Dropped ${table.name}`))) return
    go(href('tables'))
    onDefined()
  }
  return (
    <>
      <Section
        title="Columns"
        actions={
          mayAlter && (
            <Button size="small" icon="plus" onClick={() => setOpen({ kind: 'column' })}>
              Add a column
            </Button>
          )
        }
      >
        <Table
          label="Columns"
          rows={table.columns}
          keyOf={({ name }) => name}
          columns={[
            { title: 'Name', cell: (column) => <ColumnName column={column} /> },
            { title: 'Type', cell: ({ type }) => <code>{type}</code> },
            {
              title: 'NULL',
              cell: ({ nullable }) => (nullable ? 'allowed' : <span class="quiet">–</span>),
              wide: true,
            },
            { title: 'Default', cell: (column) => column.default && <code>{column.default}</code>, wide: true },
            ...(mayAlter
              ? [
                  {
                    title: 'Actions',
                    kind: 'actions' as const,
                    cell: (column: TableColumn) => (
                      <Menu
                        label={`Change ${column.name}`}
                        items={[
                          {
                            title: 'Rename…',
                            icon: 'edit',
                            act: () => setOpen({ kind: 'rename', column: column.name }),
                          },
                          { title: 'Drop…', icon: 'trash', danger: true, act: () => void dropColumn(column) },
                        ]}
                      />
                    ),
                  },
                ]
              : []),
          ]}
        />
      </Section>
      {table.view !== null && (
        <Section title="Query">
          <Code text={format(table.view)} label="the query of the view" />
        </Section>
      )}
      {!table.isview && (
        <Section
          title="Keys and indexes"
          actions={
            mayAlter && (
              <Button size="small" icon="plus" onClick={() => setOpen({ kind: 'index' })}>
                Add an index
              </Button>
            )
          }
        >
          <Facts
            of={[
              ['Primary key', table.primarykey.length === 0 ? <None /> : <code>{table.primarykey.join(', ')}</code>],
              ...table.uniques.map((columns): [string, preact.ComponentChild] => [
                'Unique',
                <code key="columns">{columns.join(', ')}</code>,
              ]),
            ]}
          />
          {table.indexes.length > 0 && (
            <Table
              label="Indexes"
              rows={table.indexes}
              keyOf={({ name }) => name}
              columns={[
                { title: 'Index', cell: ({ name }) => name },
                { title: 'Columns', cell: (index) => <code>{columnsOf(index)}</code> },
                { title: 'Unique', cell: ({ unique }) => (unique === true ? 'yes' : 'no'), wide: true },
                ...(mayAlter
                  ? [
                      {
                        title: 'Actions',
                        kind: 'actions' as const,
                        cell: (index: TableIndex) => (
                          <Menu
                            label={`Change ${index.name}`}
                            items={[{ title: 'Drop…', icon: 'trash', danger: true, act: () => void dropIndex(index) }]}
                          />
                        ),
                      },
                    ]
                  : []),
              ]}
            />
          )}
        </Section>
      )}
      <Section
        title="Rights and settings"
        actions={
          mayAlter && (
            <Button size="small" icon="edit" onClick={() => setOpen({ kind: 'settings' })}>
              Change
            </Button>
          )
        }
      >
        <Facts
          of={[
            ['Read scope', table.readscope === null ? 'any scope of the platform' : <code>{table.readscope}</code>],
            ...(table.isview ? [] : writeFacts(table)),
            ['You may', table.rights.join(', ')],
            ['Comment', table.description ?? <None />],
            ['Created', <Time key="created" at={table.created} />],
          ]}
        />
      </Section>
      {mayDefine && (
        <Section title="Danger">
          <Button kind="danger" icon="trash" onClick={dropTable}>
            Drop the {kind}
          </Button>
        </Section>
      )}
      {open?.kind === 'column' && <AddColumn {...dialog} />}
      {open?.kind === 'index' && <AddIndex {...dialog} />}
      {open?.kind === 'settings' && <ChangeSettings {...dialog} />}
      {open?.kind === 'rename' && <RenameColumn {...dialog} column={open.column} />}
    </>
  )
}

function ColumnName({ column: { name, isprimarykey } }: { readonly column: TableColumn }) {
  return (
    <>
      {name} {isprimarykey && <Badge kind="accent">key</Badge>}
    </>
  )
}

/** A view has no rows that could be written, and no changes of its own. */
function writeFacts({ writescope, rowfilter, live }: TableDetail): [string, preact.ComponentChild][] {
  return [
    ['Write scope', <code key="write">{writescope ?? 'Platform/Admin'}</code>],
    ['Row filter', rowfilter === null ? <None /> : <code>{rowfilter}</code>],
    ['Changes are logged', live ? 'yes, for live queries' : 'no: live queries run again as a whole'],
  ]
}

function None() {
  return <span class="quiet">none</span>
}

function columnsOf({ columns }: TableIndex): string {
  return columns
    .map((column) => (typeof column === 'string' ? column : `${column.name}${column.descending ? ' DESC' : ''}`))
    .join(', ')
}
