/** The tree of tables and views: a page at a time, found by the beginning of the name, columns read when opened, system tables last. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { href } from '../../shell/router.ts'
import { Await, Button, ButtonLink, Icon, IconButton, SearchField, useDelayed, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { readTable, readTables, type TableSummary } from './catalogue.ts'

export function Tree({
  current,
  definitions,
  mayCreate,
}: {
  readonly current: string | undefined
  readonly definitions: number
  readonly mayCreate: boolean
}) {
  const [text, setText] = useState('')
  const prefix = useDelayed(text.trim(), 120)
  const first = useLoad(
    async (signal) => {
      const [own, system] = await Promise.all([
        readTables({ prefix, system: false }, signal),
        readTables({ prefix, system: true }, signal),
      ])
      return { own, system }
    },
    [prefix, definitions],
  )
  return (
    <nav class="tree" aria-label="Tables">
      <div class="tree-search">
        <SearchField label="Find a table" value={text} onValue={setText} />
        {mayCreate && (
          <ButtonLink href={href('tables', { new: '' })} icon="plus" size="small">
            New
          </ButtonLink>
        )}
      </div>
      <Await of={first} title="The tables could not be read">
        {({ own, system }) => (
          <ul class="tree-list">
            {own.items.length === 0 && (prefix === '' || system.items.length === 0) && (
              <li class="tree-none quiet">
                {prefix === '' ? 'There are no tables you can read.' : `No table begins with “${prefix}”.`}
              </li>
            )}
            {own.items.map((table) => (
              <Branch key={table.name} table={table} current={current} definitions={definitions} />
            ))}
            {own.next !== null && <More key={own.next} from={own.next} current={current} definitions={definitions} />}
            {system.items.length > 0 && (
              <SystemTables
                // What was searched for is shown.
                key={prefix === '' ? '' : 'found'}
                isOpen={prefix !== '' || system.items.some(({ name }) => name === current)}
                tables={system.items}
                current={current}
                definitions={definitions}
              />
            )}
          </ul>
        )}
      </Await>
    </nav>
  )
}

/** Listed last: there are few, and users seldom look for them. */
function SystemTables({
  isOpen: isOpenFirst,
  tables,
  ...context
}: {
  readonly isOpen: boolean
  readonly tables: readonly TableSummary[]
  readonly current: string | undefined
  readonly definitions: number
}) {
  const [isOpen, setOpen] = useState(isOpenFirst)
  return (
    <li class="tree-group">
      <button type="button" class="tree-heading" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? 'down' : 'right'} />
        System tables
        <span class="quiet">{tables.length}</span>
      </button>
      {isOpen && (
        <ul class="tree-list">
          {tables.map((table) => (
            <Branch key={table.name} table={table} {...context} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** The pages after the first, each loaded on request. */
function More(props: { readonly from: string; readonly current: string | undefined; readonly definitions: number }) {
  const [isWanted, setWanted] = useState(false)
  if (!isWanted)
    return (
      <li class="tree-more">
        <Button size="small" kind="plain" onClick={() => setWanted(true)}>
          Show more tables
        </Button>
      </li>
    )
  return <NextPage {...props} />
}

function NextPage({
  from,
  current,
  definitions,
}: {
  readonly from: string
  readonly current: string | undefined
  readonly definitions: number
}) {
  const page = useLoad((signal) => readTables(from, signal), [from, definitions])
  return (
    <Await of={page} title="More tables could not be read">
      {({ items, next }) => (
        <>
          {items.map((table) => (
            <Branch key={table.name} table={table} current={current} definitions={definitions} />
          ))}
          {next !== null && <More key={next} from={next} current={current} definitions={definitions} />}
        </>
      )}
    </Await>
  )
}

function Branch({
  table,
  current,
  definitions,
}: {
  readonly table: TableSummary
  readonly current: string | undefined
  readonly definitions: number
}) {
  const [isOpen, setOpen] = useState(false)
  const { name, description, isview, ismaterialized, missingscopes } = table
  const hidden = missingscopes.length === 0 ? '' : `Its rows need ${missingscopes.join(word(' and '))}`
  const link = useRef<HTMLAnchorElement>(null)
  useEffect(() => {
    if (name === current) link.current?.scrollIntoView({ block: 'nearest' })
  }, [name === current])
  return (
    <li>
      <div class="tree-table">
        <IconButton
          icon={isOpen ? 'down' : 'right'}
          label={isOpen ? `Hide the columns of ${name}` : `Show the columns of ${name}`}
          aria-expanded={isOpen}
          size="small"
          onClick={() => setOpen(!isOpen)}
        />
        <a
          ref={link}
          href={href('tables', name)}
          aria-current={name === current ? 'page' : undefined}
          title={hidden || (description ?? name)}
        >
          <Icon name={isview || ismaterialized ? 'eye' : 'table'} />
          <span>{name}</span>
          {(isview || ismaterialized) && <span class="quiet">view</span>}
          {hidden !== '' && (
            <>
              <Icon name="lock" />
              <span class="visually-hidden">{hidden}</span>
            </>
          )}
        </a>
      </div>
      {isOpen && <TableColumns name={name} definitions={definitions} />}
    </li>
  )
}

function TableColumns({ name, definitions }: { readonly name: string; readonly definitions: number }) {
  const table = useLoad((signal) => readTable(name, signal), [name, definitions])
  return (
    <Await of={table} title="The columns could not be read">
      {({ columns }) => (
        <ul class="tree-columns">
          {columns.map((column) => (
            <li key={column.name}>
              {column.isprimarykey && <Icon name="key" />}
              <span>{column.name}</span>
              <span class="quiet">{column.type}</span>
            </li>
          ))}
        </ul>
      )}
    </Await>
  )
}
