/** The tree of tables beside the editor: columns, types and keys, read when a table is opened. A click puts a name into the statement. */
import { useSignal } from '@preact/signals'
import { type Catalogue, type KnownTable, PAGE, tableChanges } from '../../editor/catalogue.ts'
import { printed } from '../../editor/printed.ts'
import { may } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Await, ButtonLink, classes, Icon, IconButton, useDelayed, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { SideList, SideNote } from './side-list.tsx'
import { readStored, writeStored } from './storage.ts'
import './table-tree.css'

export interface TreeActions {
  /** Puts a name at the cursor. */
  readonly onName: (name: string) => void
  /** Shows the rows of a table in a new tab. */
  readonly onRows: (statement: string) => void
}

export function TableTree({ catalogue, ...actions }: TreeActions & { readonly catalogue: Catalogue }) {
  const text = useSignal('')
  const opened = useSignal<ReadonlySet<string>>(new Set(readStored<string[]>('opened') ?? []))
  const prefix = useDelayed(text.value.trim(), 120)
  const list = useLoad(async () => {
    const [own, system] = await Promise.all([catalogue.tables(prefix, false), catalogue.tables(prefix, true)])
    return { own, system }
  }, [prefix, tableChanges.value])
  const toggle = (name: string) => {
    const next = new Set(opened.value)
    if (!next.delete(name)) next.add(name)
    opened.value = next
    writeStored('opened', [...next].slice(-MOST_REMEMBERED))
  }
  const branch = (table: KnownTable) => (
    <Branch
      key={table.name}
      table={table}
      catalogue={catalogue}
      isOpen={opened.value.has(table.name)}
      onToggle={() => toggle(table.name)}
      {...actions}
    />
  )
  return (
    <SideList label="Find a table" search={text}>
      <Await of={list} title="The tables could not be listed">
        {({ own, system }) => (
          <>
            {own.length === 0 && (prefix === '' ? <NoTables /> : system.length === 0 && <NoMatch prefix={prefix} />)}
            <ul class="table-tree" aria-label="Tables">
              {own.map(branch)}
            </ul>
            {own.length === PAGE && <SideNote>{`The first ${PAGE} are listed. Type to find others.`}</SideNote>}
            {system.length > 0 && (
              <details class="table-tree-system" open={prefix !== '' || undefined}>
                <summary>System tables</summary>
                <ul class="table-tree" aria-label="System tables">
                  {system.map(branch)}
                </ul>
              </details>
            )}
          </>
        )}
      </Await>
    </SideList>
  )
}

const MOST_REMEMBERED = 50

function NoTables() {
  return (
    <SideNote>
      <p>There are no tables you can read.</p>
      {may('Platform/Admin') && (
        <ButtonLink href={href('tables', { new: '' })} icon="plus" size="small">
          Create a table
        </ButtonLink>
      )}
    </SideNote>
  )
}

function NoMatch({ prefix }: { readonly prefix: string }) {
  return <SideNote>{`No table begins with “${prefix}”.`}</SideNote>
}

function Branch({
  table: { name, description, isview, missingscopes },
  catalogue,
  isOpen,
  onToggle,
  onName,
  onRows,
}: TreeActions & {
  readonly table: KnownTable
  readonly catalogue: Catalogue
  readonly isOpen: boolean
  readonly onToggle: () => void
}) {
  const isReadable = missingscopes.length === 0
  return (
    <li>
      <div class={classes('table-tree-table', !isReadable && 'locked')}>
        <IconButton
          icon={isOpen ? 'down' : 'right'}
          label={isOpen ? `Hide the columns of ${name}` : `Show the columns of ${name}`}
          aria-expanded={isOpen}
          size="small"
          onClick={onToggle}
        />
        <button
          type="button"
          class="table-tree-name"
          title={isReadable ? (description ?? `Insert ${name}`) : `Its rows need ${missingscopes.join(word(' and '))}`}
          onClick={() => onName(printed(name))}
        >
          <Icon name={isReadable ? (isview ? 'eye' : 'table') : 'lock'} />
          <span>{name}</span>
        </button>
        {isReadable && (
          <IconButton
            icon="play"
            label={`Show rows of ${name}`}
            size="small"
            onClick={() => onRows(`select * from ${printed(name)} limit 1000`)}
          />
        )}
      </div>
      {isOpen && <Columns table={name} catalogue={catalogue} onName={onName} />}
    </li>
  )
}

function Columns({
  table,
  catalogue,
  onName,
}: Pick<TreeActions, 'onName'> & { readonly table: string; readonly catalogue: Catalogue }) {
  const columns = useLoad(() => catalogue.columns(table), [table, tableChanges.value])
  return (
    <Await of={columns} title="The columns could not be read">
      {(found) => (
        <ul class="table-tree-columns" aria-label={`Columns of ${table}`}>
          {found.map(({ name, type, nullable, isprimarykey }) => (
            <li key={name}>
              <button
                type="button"
                title={isprimarykey ? 'Primary key' : nullable ? 'May be NULL' : 'Not NULL'}
                onClick={() => onName(printed(name))}
              >
                {isprimarykey && <Icon name="key" />}
                <span>{name}</span>
                <span class="table-tree-type">
                  {type}
                  {nullable && <span title="May be NULL">?</span>}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Await>
  )
}
